'use client';

import type { ReactNode } from 'react';
import { useCurrentAllocations, useEndedAllocations } from '../data/usePool';
import { useUrlState } from '../data/useUrlState';
import { countOf } from '../format/formatCount';
import { PageBody } from '../frame/PageBody';
import { PageHeader } from '../frame/PageHeader';
import { QueryView } from '../frame/QueryView';
import type { AllocationRow } from '../trpc/types';
import { CommandLine } from '../ui/CommandLine';
import { Panel } from '../ui/Panel';
import { matchesQuery } from '../ui/matchesQuery';
import { SearchBox } from '../ui/SearchBox';
import { Segmented } from '../ui/Segmented';
import { EmptyState } from '../ui/States';
import { AllocationsTable } from './AllocationsTable';
import { NewAllocationLink } from './NewAllocationLink';

const views = [
  { value: 'current', label: 'Current' },
  { value: 'ended', label: 'Ended' },
] as const;

/** Who holds what, and is it used? */
export function AllocationsPage() {
  const [query] = useUrlState('q', '');
  const [view, setView] = useUrlState('show', 'current');
  const ended = view === 'ended';
  return (
    <>
      <PageHeader title="Allocations" action={<NewAllocationLink />} />
      <PageBody>
        <div className="flex flex-wrap items-center gap-3">
          <Segmented
            label="Which allocations"
            value={ended ? 'ended' : 'current'}
            choices={views}
            onChange={setView}
          />
          <SearchBox label="Search allocations" />
        </div>
        {ended ? <EndedAllocations query={query} /> : <CurrentAllocations query={query} />}
      </PageBody>
    </>
  );
}

function CurrentAllocations({ query }: Readonly<{ query: string }>) {
  const rows = useCurrentAllocations();
  return (
    <AllocationsPanel title="Current allocations" allocations={rows} query={query} empty={<NoneHeld />} />
  );
}

function EndedAllocations({ query }: Readonly<{ query: string }>) {
  const rows = useEndedAllocations();
  const empty = <EmptyState title="No allocation has ended yet" />;
  return <AllocationsPanel title="Ended allocations" allocations={rows} query={query} empty={empty} />;
}

type PanelProps = {
  title: string;
  allocations: ReturnType<typeof useCurrentAllocations>;
  query: string;
  /** Shown when there is none at all; a search without a match says so itself. */
  empty: ReactNode;
};

function AllocationsPanel({ title, allocations, query, empty }: Readonly<PanelProps>) {
  const found = (allocations.data ?? []).filter((row) => matches(row, query));
  const noMatch = <EmptyState title={`No allocation matches “${query}”`}>Shorten the search.</EmptyState>;
  return (
    <Panel title={title} aside={countOf(found.length, 'allocation')}>
      <QueryView query={allocations} label="allocations">
        {() => <AllocationsTable rows={found} empty={query === '' ? empty : noMatch} />}
      </QueryView>
    </Panel>
  );
}

function matches(row: AllocationRow, query: string): boolean {
  return matchesQuery(query, [
    row.id,
    row.userEmail,
    row.purpose ?? '',
    row.state,
    row.reason ?? '',
    ...row.gpus.flatMap((gpu) => [gpu.uuid, gpu.serverAddress, gpu.name]),
  ]);
}

function NoneHeld() {
  return (
    <EmptyState title="Nobody holds a GPU now">
      <p>Allocate one by hand with the button above, or run a program, which allocates for itself:</p>
      <div className="text-left text-ink">
        <CommandLine command="bin/sluice run -n 1 -- <program>" />
      </div>
    </EmptyState>
  );
}
