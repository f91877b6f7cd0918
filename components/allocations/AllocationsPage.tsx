'use client';

import { useAllocations } from '../data/usePool';
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
import { isHolding } from './isHolding';
import { NewAllocationLink } from './NewAllocationLink';

const views = [
  { value: 'current', label: 'Current' },
  { value: 'ended', label: 'Ended' },
] as const;

/** Who holds what, and is it used? */
export function AllocationsPage() {
  const allocations = useAllocations();
  const [query] = useUrlState('q', '');
  const [view, setView] = useUrlState('show', 'current');
  const ended = view === 'ended';
  const found = (allocations.data ?? []).filter(
    (row) => (isHolding(row) || row.state === 'queued') !== ended && matches(row, query),
  );
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
        <Panel
          title={ended ? 'Ended allocations' : 'Current allocations'}
          aside={countOf(found.length, 'allocation')}
        >
          <QueryView query={allocations} label="allocations">
            {() => <AllocationsTable rows={found} empty={<NoAllocations query={query} ended={ended} />} />}
          </QueryView>
        </Panel>
      </PageBody>
    </>
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

function NoAllocations({ query, ended }: Readonly<{ query: string; ended: boolean }>) {
  if (query !== '')
    return <EmptyState title={`No allocation matches “${query}”`}>Shorten the search.</EmptyState>;
  if (ended) return <EmptyState title="No allocation has ended yet" />;
  return (
    <EmptyState title="Nobody holds a GPU now">
      <p>Allocate one by hand with the button above, or run a program, which allocates for itself:</p>
      <div className="text-left text-ink">
        <CommandLine command="bin/sluice run -n 1 -- <program>" />
      </div>
    </EmptyState>
  );
}
