'use client';

import Link from 'next/link';
import type { ReactNode } from 'react';
import { GpuPlaces } from '../allocations/GpuPlaces';
import { useCurrentAllocations, useEndedAllocations } from '../data/usePool';
import { formatCount } from '../format/formatCount';
import { formatBytes } from '../format/formatMemory';
import { Since } from '../format/Since';
import type { AllocationRow, TaskRow } from '../trpc/types';
import { DataTable, type Column } from '../ui/DataTable';
import { NotAvailable } from '../ui/NotAvailable';
import { TaskEnd } from './TaskEnd';
import { taskKey } from './taskKey';

type Props = { rows: readonly TaskRow[]; sortKey?: string; empty: ReactNode };

/** Programs that use the pool, or did. */
export function TasksTable({ rows, sortKey, empty }: Readonly<Props>) {
  const { data: current } = useCurrentAllocations();
  const { data: ended } = useEndedAllocations();
  return (
    <DataTable
      label="Tasks"
      rows={rows}
      columns={[...who, gpusColumn([...(current ?? []), ...(ended ?? [])]), ...counters]}
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

/** A program sees the GPUs of its allocation. One whose allocation is no longer listed has none to name. */
function gpusColumn(allocations: readonly AllocationRow[]): Column<TaskRow> {
  const gpusOf = new Map(allocations.map((allocation) => [allocation.id, allocation.gpus]));
  return {
    id: 'gpus',
    header: 'GPUs',
    cell: (row) => {
      const gpus = gpusOf.get(row.allocationId)?.filter((gpu) => gpu.serverId === row.serverId) ?? [];
      if (gpus.length === 0) return <NotAvailable reason="Its allocation is too long ago." />;
      return <GpuPlaces gpus={gpus} />;
    },
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
    from: 'desktop',
    sortValue: (row) => row.peakMib,
    cell: (row) => formatCount(row.peakMib),
  },
  {
    id: 'launches',
    header: 'Launches',
    align: 'right',
    from: 'laptop',
    sortValue: (row) => row.launches,
    cell: (row) => formatCount(row.launches),
  },
  {
    id: 'roundTrips',
    header: 'Round trips',
    align: 'right',
    from: 'laptop',
    sortValue: (row) => row.roundTrips,
    cell: (row) => formatCount(row.roundTrips),
  },
  {
    id: 'in',
    header: 'To GPU',
    align: 'right',
    from: 'desktop',
    sortValue: (row) => row.bytesIn,
    cell: (row) => formatBytes(row.bytesIn),
  },
  {
    id: 'out',
    header: 'From GPU',
    align: 'right',
    from: 'desktop',
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
