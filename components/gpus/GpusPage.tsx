'use client';

import { useServers, useTelemetry } from '../data/usePool';
import { useUrlState } from '../data/useUrlState';
import { countOf } from '../format/formatCount';
import { PageBody } from '../frame/PageBody';
import { PageHeader } from '../frame/PageHeader';
import { QueryView } from '../frame/QueryView';
import { AddServer } from '../servers/AddServer';
import { Panel } from '../ui/Panel';
import { matchesQuery } from '../ui/matchesQuery';
import { SearchBox } from '../ui/SearchBox';
import { EmptyState } from '../ui/States';
import { GpusTable, type PlacedGpu } from './GpusTable';

/** Every GPU of the pool: where is the slack? */
export function GpusPage() {
  const servers = useServers();
  const telemetry = useTelemetry();
  const [query] = useUrlState('q', '');
  return (
    <>
      <PageHeader title="GPUs" />
      <PageBody>
        <SearchBox label="Search GPUs" />
        <Panel
          title="GPUs"
          aside={
            servers.data &&
            countOf(
              servers.data.reduce((sum, server) => sum + server.gpus.length, 0),
              'GPU',
            )
          }
        >
          <QueryView query={servers} label="GPUs">
            {(rows) => {
              if (rows.length === 0) return <AddServer />;
              const placed: PlacedGpu[] = rows.flatMap((server) =>
                server.gpus.map((gpu) => ({ gpu, server })),
              );
              const found = placed.filter(({ gpu, server }) =>
                matchesQuery(query, [
                  gpu.uuid,
                  gpu.name,
                  server.hostname,
                  gpu.health,
                  ...gpu.allocations.map((allocation) => allocation.userEmail),
                ]),
              );
              return (
                <GpusTable
                  rows={found}
                  series={telemetry.data?.series ?? []}
                  empty={<EmptyState title={`No GPU matches “${query}”`}>Shorten the search.</EmptyState>}
                />
              );
            }}
          </QueryView>
        </Panel>
      </PageBody>
    </>
  );
}
