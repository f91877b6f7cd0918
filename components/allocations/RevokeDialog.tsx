'use client';

import { useMutation, useQuery } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useRunningTasks } from '../data/usePool';
import { countOf } from '../format/formatCount';
import { useApplyEvent } from '../live/useApplyEvent';
import { taskKey } from '../tasks/taskKey';
import { useTRPC } from '../trpc/context';
import { describeError } from '../trpc/describeError';
import type { AllocationRow, TaskRow } from '../trpc/types';
import { Button } from '../ui/Button';
import { Dialog } from '../ui/Dialog';
import { Field, TextArea } from '../ui/Field';
import { Select } from '../ui/Select';
import { ErrorState } from '../ui/States';
import { GpuPlaces } from './GpuPlaces';
import { canBeEnded } from './isHolding';
import { ReleaseProgress } from './ReleaseProgress';

const graces = [
  { value: '1', label: 'End programs at once' },
  { value: '30', label: 'Give programs 30 seconds' },
  { value: '300', label: 'Give programs 5 minutes' },
];

/** `asOffered`: the allocation as it was when the dialog opened; from then on it is followed live. */
type Props = { asOffered: AllocationRow; onClose: () => void };

/** Asks for the reason, names what will end, and then shows the way to a GPU that is proved free. */
export function RevokeDialog({ asOffered, onClose }: Readonly<Props>) {
  const trpc = useTRPC();
  const applyEvent = useApplyEvent();
  const tasks = useRunningTasks();
  const { data: allocation } = useQuery(
    trpc.allocations.get.queryOptions({ id: asOffered.id }, { initialData: asOffered }),
  );
  const [reason, setReason] = useState('');
  const [grace, setGrace] = useState('1');
  const revoke = useMutation(
    trpc.allocations.revoke.mutationOptions({
      onSuccess: (row) => applyEvent({ kind: 'allocations', allocations: [row] }),
    }),
  );
  const programs = (tasks.data ?? []).filter((task) => task.allocationId === allocation.id);
  const asked = revoke.isSuccess || !canBeEnded(allocation);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    revoke.mutate({ id: allocation.id, reason: reason.trim(), graceSeconds: Number(grace) });
  };

  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={asked ? 'Revoked' : 'Revoke this allocation?'}
      description={
        <>
          {allocation.userEmail} {asked ? 'held' : 'holds'} <GpuPlaces gpus={allocation.gpus} />
          {allocation.purpose && ` for “${allocation.purpose}”`}.
        </>
      }
    >
      {asked ? (
        <div className="mt-4 flex flex-col gap-4">
          <ReleaseProgress allocation={allocation} />
          <div className="flex justify-end">
            <Button look="primary" onClick={onClose}>
              Close
            </Button>
          </div>
        </div>
      ) : (
        <form onSubmit={submit} className="mt-4 flex flex-col gap-3">
          <ProgramsThatEnd programs={programs} />
          <Field label="Reason" hint="Whoever runs a program on it reads this on their terminal.">
            {(ids) => (
              <TextArea
                {...ids}
                required
                maxLength={500}
                autoFocus
                value={reason}
                onChange={(event) => setReason(event.target.value)}
              />
            )}
          </Field>
          <Field label="Grace">
            {(ids) => <Select {...selectIds(ids)} value={grace} choices={graces} onChange={setGrace} />}
          </Field>
          {revoke.error && <ErrorState {...describeError(revoke.error)} />}
          <div className="flex justify-end gap-2">
            <Button onClick={onClose}>Keep it</Button>
            <Button type="submit" look="danger" disabled={revoke.isPending || reason.trim() === ''}>
              {programs.length === 0 ? 'Revoke' : `Revoke and end ${countOf(programs.length, 'program')}`}
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

function selectIds(ids: { id: string; 'aria-describedby': string }) {
  return { id: ids.id, 'aria-describedby': ids['aria-describedby'] };
}

function ProgramsThatEnd({ programs }: Readonly<{ programs: readonly TaskRow[] }>) {
  if (programs.length === 0) return <p className="text-sm">No program runs under it now.</p>;
  return (
    <div className="rounded-md border border-bad/40 bg-bad-soft px-3 py-2 text-sm">
      <p className="font-medium">{programs.length === 1 ? 'This program ends:' : 'These programs end:'}</p>
      <ul className="mt-1 flex max-h-40 flex-col gap-0.5 overflow-y-auto">
        {programs.map((task) => (
          <li key={taskKey(task)} className="break-all">
            <code className="font-mono text-xs">{task.command}</code>{' '}
            <span className="text-muted">
              {task.user}@{task.clientHost}, PID {task.clientPid}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
