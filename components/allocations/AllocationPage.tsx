'use client';

import { useQuery } from '@tanstack/react-query';
import Link from 'next/link';
import { useState } from 'react';
import { useRunningTasks } from '../data/usePool';
import { countOf } from '../format/formatCount';
import { PageBody } from '../frame/PageBody';
import { PageHeader } from '../frame/PageHeader';
import { QueryView } from '../frame/QueryView';
import { TasksTable } from '../tasks/TasksTable';
import { useTRPC } from '../trpc/context';
import type { AllocationRow } from '../trpc/types';
import { CommandLine } from '../ui/CommandLine';
import { Panel } from '../ui/Panel';
import { EmptyState } from '../ui/States';
import { AllocationFacts } from './AllocationFacts';
import { canBeEnded } from './isHolding';
import { ReleaseButton } from './ReleaseButton';
import { ReleaseProgress } from './ReleaseProgress';
import { RevokeButton } from './RevokeButton';
import { RevokeDialog } from './RevokeDialog';

/** One allocation: the command that uses it, what it holds, what runs under it. */
export function AllocationPage({ id }: Readonly<{ id: string }>) {
  const query = useQuery(useTRPC().allocations.get.queryOptions({ id }));
  const allocation = query.data;
  const [revoking, setRevoking] = useState(false);
  return (
    <>
      <PageHeader
        title={
          <>
            <Link href="/allocations" className="font-normal text-muted hover:text-ink">
              Allocations
            </Link>
            <span className="px-1.5 font-normal text-faint">/</span>
            <span className="font-mono text-sm">{id}</span>
          </>
        }
        action={
          allocation && (
            <>
              <ReleaseButton allocation={allocation} />
              <RevokeButton allocation={allocation} onRevoke={() => setRevoking(true)} />
            </>
          )
        }
      />
      <PageBody>
        <QueryView query={query} label="the allocation">
          {(row) => <AllocationContent allocation={row} />}
        </QueryView>
      </PageBody>
      {revoking && allocation && <RevokeDialog asOffered={allocation} onClose={() => setRevoking(false)} />}
    </>
  );
}

function AllocationContent({ allocation }: Readonly<{ allocation: AllocationRow }>) {
  const running = useRunningTasks();
  const finished = useQuery(
    useTRPC().tasks.list.queryOptions({ active: false, allocationId: allocation.id }),
  );
  const own = [
    ...(running.data ?? []).filter((task) => task.allocationId === allocation.id),
    ...(finished.data ?? []),
  ];
  return (
    <>
      {canBeEnded(allocation) && (
        <Panel title="Use it" bodyClassName="flex flex-col gap-2 p-3.5">
          <CommandLine command={`bin/sluice client --allocation ${allocation.id} -- <program>`} />
          <p className="text-xs text-muted">
            Runs any CUDA program on these GPUs from this or another machine that is logged in with{' '}
            <code className="font-mono">bin/sluice login</code>. Put the program and its arguments in the
            place of <code className="font-mono">&lt;program&gt;</code>.
          </p>
        </Panel>
      )}
      {allocation.state === 'releasing' && (
        <Panel title="Giving it back" bodyClassName="p-3.5">
          <ReleaseProgress allocation={allocation} />
        </Panel>
      )}
      <AllocationFacts allocation={allocation} />
      <Panel title="Programs" aside={countOf(own.length, 'program')}>
        <QueryView query={finished} label="programs">
          {() => <TasksTable rows={own} empty={<EmptyState title="No program has used it yet" />} />}
        </QueryView>
      </Panel>
    </>
  );
}
