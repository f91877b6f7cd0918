'use client';

import { useServers } from '../data/usePool';
import { useUrlState } from '../data/useUrlState';
import { countOf } from '../format/formatCount';
import { PageBody } from '../frame/PageBody';
import { PageHeader } from '../frame/PageHeader';
import { QueryView } from '../frame/QueryView';
import { Panel } from '../ui/Panel';
import { matchesQuery } from '../ui/matchesQuery';
import { SearchBox } from '../ui/SearchBox';
import { EmptyState } from '../ui/States';
import { AddServer } from './AddServer';
import { AddServerButton } from './AddServerButton';
import { ServersTable } from './ServersTable';

/** Which host needs me? */
export function ServersPage() {
  const servers = useServers();
  const [query] = useUrlState('q', '');
  return (
    <>
      <PageHeader title="Servers" action={<AddServerButton />} />
      <PageBody>
        <SearchBox label="Search servers" />
        <Panel title="Servers" aside={servers.data && countOf(servers.data.length, 'server')}>
          <QueryView query={servers} label="servers">
            {(rows) => {
              if (rows.length === 0) return <AddServer />;
              const found = rows.filter((row) =>
                matchesQuery(query, [row.hostname, row.address, row.state, row.driverVersion ?? '']),
              );
              return (
                <ServersTable
                  rows={found}
                  empty={<EmptyState title={`No server matches “${query}”`}>Shorten the search.</EmptyState>}
                />
              );
            }}
          </QueryView>
        </Panel>
      </PageBody>
    </>
  );
}
