'use client';

import { X } from 'lucide-react';
import type { ServerRow } from '../trpc/types';
import { Button } from '../ui/Button';
import { Field, Input } from '../ui/Field';
import { Segmented } from '../ui/Segmented';
import { Select } from '../ui/Select';
import type { AllocationForm, FormErrors, MemoryKind } from './prepareRequest';

const memoryKinds: readonly { value: MemoryKind; label: string }[] = [
  { value: 'whole', label: 'Whole GPU' },
  { value: 'mib', label: 'MiB' },
  { value: 'share', label: 'Share' },
];

const leases = [
  { value: '3600', label: '1 hour' },
  { value: '28800', label: '8 hours' },
  { value: '86400', label: '1 day' },
  { value: '604800', label: '7 days' },
];

// Radix does not accept an empty value for a choice.
const ANY_SERVER = 'any';

type Props = {
  form: AllocationForm;
  errors: FormErrors;
  servers: readonly ServerRow[];
  onChange: (change: Partial<AllocationForm>) => void;
};

/** How many, how much of each, for how long; which server and why, for those who care. */
export function AllocationFields({ form, errors, servers, onChange }: Readonly<Props>) {
  return (
    <>
      {form.gpuUuid === '' ? (
        <>
          <Field label="GPUs" error={errors.gpus} hint="All on one server.">
            {(ids) => (
              <Input
                {...ids}
                inputMode="numeric"
                value={form.gpus}
                onChange={(event) => onChange({ gpus: event.target.value })}
              />
            )}
          </Field>
          <Field label="Server">
            {({ id }) => (
              <Select
                id={id}
                value={form.server || ANY_SERVER}
                choices={[
                  { value: ANY_SERVER, label: 'Any' },
                  ...servers.map((server) => ({
                    value: server.address,
                    label: `${server.hostname} (${server.address})`,
                  })),
                ]}
                onChange={(value) => onChange({ server: value === ANY_SERVER ? '' : value })}
              />
            )}
          </Field>
        </>
      ) : (
        <ChosenGpu uuid={form.gpuUuid} servers={servers} onClear={() => onChange({ gpuUuid: '' })} />
      )}

      <div className="flex flex-col gap-1">
        <span className="text-xs font-medium text-muted">Memory of each</span>
        <Segmented
          label="Memory of each GPU"
          value={form.memoryKind}
          choices={memoryKinds}
          onChange={(memoryKind) => onChange({ memoryKind })}
        />
        {form.memoryKind === 'mib' && (
          <Field
            label="MiB on each GPU"
            error={errors.memory}
            hint="1024 MiB are 1 GiB. The limit is kept by the server."
          >
            {(ids) => (
              <Input
                {...ids}
                inputMode="numeric"
                value={form.memoryMib}
                onChange={(event) => onChange({ memoryMib: event.target.value })}
              />
            )}
          </Field>
        )}
        {form.memoryKind === 'share' && (
          <Field label="Percent of each GPU’s memory" error={errors.memory}>
            {(ids) => (
              <Input
                {...ids}
                inputMode="decimal"
                value={form.sharePercent}
                onChange={(event) => onChange({ sharePercent: event.target.value })}
              />
            )}
          </Field>
        )}
      </div>

      <Field label="For how long" hint="Goes on for as long as a program uses it.">
        {({ id }) => (
          <Select
            id={id}
            value={form.leaseSeconds}
            choices={leases}
            onChange={(leaseSeconds) => onChange({ leaseSeconds })}
          />
        )}
      </Field>
      <Field label="Purpose (optional)" hint="Others see it next to your name.">
        {(ids) => (
          <Input
            {...ids}
            maxLength={500}
            value={form.purpose}
            onChange={(event) => onChange({ purpose: event.target.value })}
          />
        )}
      </Field>
    </>
  );
}

type ChosenProps = { uuid: string; servers: readonly ServerRow[]; onClear: () => void };

function ChosenGpu({ uuid, servers, onClear }: Readonly<ChosenProps>) {
  const server = servers.find((row) => row.gpus.some((gpu) => gpu.uuid === uuid));
  const gpu = server?.gpus.find((one) => one.uuid === uuid);
  return (
    <div className="flex items-center gap-2 rounded-md border border-line bg-sunken py-1.5 pr-1.5 pl-3 text-sm">
      <div className="min-w-0 flex-1">
        <p className="font-medium">
          {server && gpu ? `${server.hostname} GPU ${gpu.index}` : 'A GPU that is not in the pool'}
        </p>
        <p className="truncate font-mono text-2xs text-muted">{uuid}</p>
      </div>
      <Button
        look="quiet"
        size="icon"
        aria-label="Take any GPU instead"
        title="Take any GPU instead"
        onClick={onClear}
      >
        <X />
      </Button>
    </div>
  );
}
