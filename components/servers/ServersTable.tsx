'use client';

import Link from 'next/link';
import type { ReactNode } from 'react';
import { MemoryBar } from '../charts/MemoryBar';
import { prepareMemory, sumMemory, type MemoryParts } from '../charts/prepareMemory';
import { formatGib } from '../format/formatMemory';
import { Since } from '../format/Since';
import type { ServerRow } from '../trpc/types';
import { DataTable, type Column } from '../ui/DataTable';
import { NotAvailable } from '../ui/NotAvailable';
import { ServerStatus } from './ServerStatus';

const memoryOf = (server: ServerRow): MemoryParts => sumMemory(server.gpus.map(prepareMemory));
const stateOrder: Record<ServerRow['state'], number> = { unreachable: 0, joining: 1, cordoned: 2, ready: 3 };
const NOT_TOLD = 'The agent has not told it yet.';

const columns: Column<ServerRow>[] = [
  {
    id: 'server',
    header: 'Server',
    sortValue: (row) => row.hostname,
    cell: (row) => (
      <Link href={`/servers/${row.id}`} className="font-medium hover:text-accent hover:underline">
        {row.hostname}
      </Link>
    ),
  },
  {
    id: 'state',
    header: 'State',
    sortValue: (row) => stateOrder[row.state],
    cell: (row) => (
      <span title={row.problem ?? undefined}>
        <ServerStatus state={row.state} />
      </span>
    ),
  },
  {
    id: 'address',
    header: 'Address',
    cell: (row) => <span className="font-mono text-xs">{row.address}</span>,
  },
  {
    id: 'gpus',
    header: 'GPUs',
    align: 'right',
    sortValue: (row) => row.gpus.length,
    cell: (row) => row.gpus.length,
  },
  {
    id: 'memory',
    header: 'Memory',
    className: 'w-44 min-w-28',
    sortValue: (row) => memoryOf(row).granted,
    cell: (row) => <MemoryBar memory={memoryOf(row)} />,
  },
  {
    id: 'granted',
    header: 'Granted / total, GiB',
    align: 'right',
    from: 'laptop',
    cell: (row) => {
      const memory = memoryOf(row);
      return `${formatGib(memory.granted)} / ${formatGib(memory.total)}`;
    },
  },
  {
    id: 'tasks',
    header: 'Tasks',
    align: 'right',
    sortValue: (row) => row.taskCount,
    cell: (row) => row.taskCount,
  },
  {
    id: 'driver',
    header: 'Driver',
    align: 'right',
    from: 'laptop',
    cell: (row) => row.driverVersion ?? <NotAvailable reason={NOT_TOLD} />,
  },
  {
    id: 'cuda',
    header: 'CUDA',
    align: 'right',
    from: 'laptop',
    cell: (row) => row.cudaVersion ?? <NotAvailable reason={NOT_TOLD} />,
  },
  {
    id: 'agent',
    header: 'Agent',
    align: 'right',
    from: 'laptop',
    cell: (row) => row.agentVersion ?? <NotAvailable reason={NOT_TOLD} />,
  },
  {
    id: 'seen',
    header: 'Last seen',
    align: 'right',
    from: 'laptop',
    sortValue: (row) => row.lastSeenAt,
    cell: (row) => {
      if (row.connected) return 'now';
      if (row.lastSeenAt === null) return <NotAvailable reason="The server has never connected." />;
      return (
        <>
          <Since from={row.lastSeenAt} /> ago
        </>
      );
    },
  },
];

export function ServersTable({ rows, empty }: Readonly<{ rows: readonly ServerRow[]; empty: ReactNode }>) {
  return <DataTable label="Servers" rows={rows} columns={columns} rowKey={(row) => row.id} empty={empty} />;
}
