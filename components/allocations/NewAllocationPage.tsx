'use client';

import { useMutation } from '@tanstack/react-query';
import Link from 'next/link';
import { useRouter } from 'next/navigation';
import { useState, type FormEvent } from 'react';
import { mayAllocate } from '../data/roles';
import { useMe, useServers } from '../data/usePool';
import { PageBody } from '../frame/PageBody';
import { PageHeader } from '../frame/PageHeader';
import { QueryView } from '../frame/QueryView';
import { useApplyEvent } from '../live/useApplyEvent';
import { useTRPC } from '../trpc/context';
import { describeError } from '../trpc/describeError';
import type { ServerRow } from '../trpc/types';
import { Button } from '../ui/Button';
import { Panel } from '../ui/Panel';
import { EmptyState, ErrorState } from '../ui/States';
import { AllocationFields } from './AllocationFields';
import { PlacementPreview } from './PlacementPreview';
import { preparePlacement } from './preparePlacement';
import { emptyForm, prepareRequest } from './prepareRequest';

/** Allocates by hand. `gpuUuid`: the one GPU that was pointed at, empty for any. */
export function NewAllocationPage({ gpuUuid }: Readonly<{ gpuUuid: string }>) {
  const servers = useServers();
  const { data: me } = useMe();
  return (
    <>
      <PageHeader
        title={
          <>
            <Link href="/allocations" className="font-normal text-muted hover:text-ink">
              Allocations
            </Link>
            <span className="px-1.5 font-normal text-faint">/</span>
            Allocate
          </>
        }
      />
      <PageBody>
        <QueryView query={servers} label="the servers">
          {(rows) =>
            me && !mayAllocate(me.role) ? (
              <EmptyState title="Your role only looks on">
                An administrator can give you a role that allocates.
              </EmptyState>
            ) : (
              <AllocationEditor servers={rows} gpuUuid={gpuUuid} />
            )
          }
        </QueryView>
      </PageBody>
    </>
  );
}

function AllocationEditor({
  servers,
  gpuUuid,
}: Readonly<{ servers: readonly ServerRow[]; gpuUuid: string }>) {
  const router = useRouter();
  const applyEvent = useApplyEvent();
  const [form, setForm] = useState({ ...emptyForm, gpuUuid });
  const { request, errors } = prepareRequest(form);
  const placement = request && preparePlacement(servers, request);
  const allocate = useMutation(
    useTRPC().allocations.request.mutationOptions({
      onSuccess: ({ allocation }) => {
        applyEvent({ kind: 'allocations', allocations: [allocation] });
        router.push(`/allocations/${allocation.id}`);
      },
    }),
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (request) allocate.mutate(request);
  };
  const busy = allocate.isPending || allocate.isSuccess;
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[minmax(320px,400px)_1fr]">
      <Panel title="What for">
        <form onSubmit={submit} noValidate className="flex flex-col gap-3.5 p-3.5">
          <AllocationFields
            form={form}
            errors={errors}
            servers={servers}
            onChange={(change) => setForm((old) => ({ ...old, ...change }))}
          />
          {allocate.error && <ErrorState {...describeError(allocate.error)} />}
          <Button type="submit" look="primary" disabled={!request || busy}>
            {busy ? 'Preparing the GPUs' : 'Allocate'}
          </Button>
        </form>
      </Panel>
      <Panel title="What would be taken" aside="live">
        {placement ? (
          <PlacementPreview placement={placement} />
        ) : (
          <EmptyState title="Correct the marked field to see it" />
        )}
      </Panel>
    </div>
  );
}
