'use client';

import Link from 'next/link';
import type { ReactNode } from 'react';
import { useServers } from '../data/usePool';
import { formatCount, shortUuid } from '../format/formatCount';
import { formatBytes } from '../format/formatMemory';
import { Since } from '../format/Since';
import type { ServerRow, TaskRow } from '../trpc/types';
import { DataTable, type Column } from '../ui/DataTable';
import { TaskEnd } from './TaskEnd';
import { taskKey } from './taskKey';

type Props = { rows: readonly TaskRow[]; sortKey?: string; empty: ReactNode };

/** Programs that use the pool, or did. */
export function TasksTable({ rows, sortKey, empty }: Readonly<Props>) {
  const { data: servers } = useServers();
  return (
    <DataTable
      label="Tasks"
      rows={rows}
      columns={[...who, gpusColumn(servers ?? []), ...counters]}
      rowKey={taskKey}
      sortKey={sortKey}
      empty={empty}
    />
  );
}

const who: Column<TaskRow>[] = [
  {
    id: 'command',
    header: 'Command',
    className: 'max-w-72 min-w-40',
    sortValue: (row) => row.command,
    cell: (row) => (
      <Link
        href={`/allocations/${row.allocationId}`}
        title={row.command}
        className="block truncate font-mono text-xs hover:text-accent hover:underline"
      >
        {row.command}
      </Link>
    ),
  },
  { id: 'state', header: 'State', sortValue: (row) => row.how ?? '', cell: (row) => <TaskEnd task={row} /> },
  { id: 'user', header: 'User', sortValue: (row) => row.user, cell: (row) => row.user },
  {
    id: 'client',
    header: 'Client',
    sortValue: (row) => row.clientHost,
    cell: (row) => (
      <span title={row.clientAddress ?? undefined}>
        {row.clientHost} <span className="text-muted">PID {row.clientPid}</span>
      </span>
    ),
  },
];

/** GPUs by their place ("node1 GPU 0"): a bare index would mean nothing across servers. */
function gpusColumn(servers: readonly ServerRow[]): Column<TaskRow> {
  const placeOf = new Map(
    servers.flatMap((server) =>
      server.gpus.map((gpu) => [gpu.uuid, { server, label: `${server.hostname} GPU ${gpu.index}` }] as const),
    ),
  );
  return {
    id: 'gpus',
    header: 'GPUs',
    cell: (row) =>
      row.gpus.map(({ uuid }, position) => {
        const place = placeOf.get(uuid);
        return (
          <span key={uuid} title={uuid}>
            {position > 0 && ', '}
            {place ? (
              <Link href={`/servers/${place.server.id}`} className="hover:text-accent hover:underline">
                {place.label}
              </Link>
            ) : (
              shortUuid(uuid)
            )}
          </span>
        );
      }),
  };
}

const counters: Column<TaskRow>[] = [
  {
    id: 'memory',
    header: 'Memory, MiB',
    align: 'right',
    sortValue: (row) => row.usedMib,
    cell: (row) => (row.endedAt === null ? formatCount(row.usedMib) : <span className="text-muted">0</span>),
  },
  {
    id: 'peak',
    header: 'Peak, MiB',
    align: 'right',
    secondary: true,
    sortValue: (row) => row.peakMib,
    cell: (row) => formatCount(row.peakMib),
  },
  {
    id: 'launches',
    header: 'Launches',
    align: 'right',
    secondary: true,
    sortValue: (row) => row.launches,
    cell: (row) => formatCount(row.launches),
  },
  {
    id: 'roundTrips',
    header: 'Round trips',
    align: 'right',
    secondary: true,
    sortValue: (row) => row.roundTrips,
    cell: (row) => formatCount(row.roundTrips),
  },
  {
    id: 'in',
    header: 'To GPU',
    align: 'right',
    secondary: true,
    sortValue: (row) => row.bytesIn,
    cell: (row) => formatBytes(row.bytesIn),
  },
  {
    id: 'out',
    header: 'From GPU',
    align: 'right',
    secondary: true,
    sortValue: (row) => row.bytesOut,
    cell: (row) => formatBytes(row.bytesOut),
  },
  {
    id: 'duration',
    header: 'Runs for',
    align: 'right',
    sortValue: (row) => -row.startedAt,
    cell: (row) => <Since from={row.startedAt} to={row.endedAt} />,
  },
];
