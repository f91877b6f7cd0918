'use client';

import Link from 'next/link';
import type { ReactNode } from 'react';
import { assignColours } from '../charts/colours';
import { MemoryBar } from '../charts/MemoryBar';
import { prepareMemory } from '../charts/prepareMemory';
import { mayAllocate } from '../data/roles';
import { useMe } from '../data/usePool';
import { shortUuid } from '../format/formatCount';
import { formatGib } from '../format/formatMemory';
import type { GpuRow, ServerRow, TelemetrySeries } from '../trpc/types';
import { Button } from '../ui/Button';
import { DataTable, type Column } from '../ui/DataTable';
import { NotAvailable } from '../ui/NotAvailable';
import { GpuHealth } from './GpuHealth';
import { GpuSparkline } from './GpuSparkline';
import { Reading } from './Reading';

export type PlacedGpu = { gpu: GpuRow; server: ServerRow };

type Props = { rows: readonly PlacedGpu[]; series: readonly TelemetrySeries[]; empty: ReactNode };

export function GpusTable({ rows, series, empty }: Readonly<Props>) {
  const { data: me } = useMe();
  const colours = assignColours(rows.map((row) => row.gpu.uuid));
  const columns: Column<PlacedGpu>[] = [
    ...identity,
    ...memory,
    {
      id: 'history',
      header: 'Last 5 minutes',
      className: 'w-32 min-w-20',
      from: 'laptop',
      cell: ({ gpu }) => (
        <GpuSparkline uuid={gpu.uuid} series={series} colour={colours.get(gpu.uuid) ?? ''} />
      ),
    },
    ...readings,
    {
      id: 'holders',
      header: 'Held by',
      className: 'max-w-56 truncate',
      cell: ({ gpu }) => <Holders gpu={gpu} />,
    },
    {
      id: 'allocate',
      header: '',
      align: 'right',
      cell: ({ gpu, server }) =>
        mayAllocate(me?.role) &&
        server.state === 'ready' &&
        gpu.health !== 'unhealthy' &&
        prepareMemory(gpu).free > 0 && (
          <Button asChild size="small">
            <Link
              href={`/allocations/new?gpu=${encodeURIComponent(gpu.uuid)}`}
              aria-label={`Allocate GPU ${gpu.index} of ${server.hostname}`}
            >
              Allocate
            </Link>
          </Button>
        ),
    },
  ];
  return (
    <DataTable label="GPUs" rows={rows} columns={columns} rowKey={(row) => row.gpu.uuid} empty={empty} />
  );
}

const identity: Column<PlacedGpu>[] = [
  {
    id: 'server',
    header: 'Server',
    sortValue: ({ server, gpu }) => `${server.hostname} ${gpu.index}`,
    cell: ({ server }) => (
      <Link href={`/servers/${server.id}`} className="font-medium hover:text-accent hover:underline">
        {server.hostname}
      </Link>
    ),
  },
  { id: 'index', header: 'GPU', align: 'right', cell: ({ gpu }) => gpu.index },
  {
    id: 'name',
    header: 'Name',
    sortValue: ({ gpu }) => gpu.name,
    cell: ({ gpu }) => <span title={gpu.uuid}>{gpu.name}</span>,
  },
  {
    id: 'uuid',
    header: 'UUID',
    from: 'desktop',
    cell: ({ gpu }) => (
      <span className="font-mono text-xs text-muted" title={gpu.uuid}>
        {shortUuid(gpu.uuid)}
      </span>
    ),
  },
  {
    id: 'health',
    header: 'Health',
    sortValue: ({ gpu }) => gpu.health,
    cell: ({ gpu }) => <GpuHealth health={gpu.health} />,
  },
];

const memory: Column<PlacedGpu>[] = [
  {
    id: 'memory',
    header: 'Memory',
    className: 'w-36 min-w-24',
    cell: ({ gpu }) => <MemoryBar memory={prepareMemory(gpu)} />,
  },
  {
    id: 'used',
    header: 'Used / total, GiB',
    align: 'right',
    sortValue: ({ gpu }) => gpu.memoryUsedMib,
    cell: ({ gpu }) => (
      <>
        {gpu.memoryUsedMib === null ? (
          <NotAvailable reason="The device does not tell how much memory is in use." />
        ) : (
          formatGib(gpu.memoryUsedMib)
        )}
        {` / ${formatGib(gpu.memoryTotalMib)}`}
      </>
    ),
  },
];

const readings: Column<PlacedGpu>[] = [
  {
    id: 'utilization',
    header: 'Utilization',
    align: 'right',
    sortValue: ({ gpu }) => gpu.utilizationPercent,
    cell: ({ gpu }) => <Reading value={gpu.utilizationPercent} unit="%" name="utilization" />,
  },
  {
    id: 'power',
    header: 'Power',
    align: 'right',
    from: 'laptop',
    sortValue: ({ gpu }) => gpu.powerWatts,
    cell: ({ gpu }) => <Reading value={gpu.powerWatts} unit="W" name="power" />,
  },
  {
    id: 'temperature',
    header: 'Temp.',
    align: 'right',
    from: 'laptop',
    sortValue: ({ gpu }) => gpu.temperatureCelsius,
    cell: ({ gpu }) => <Reading value={gpu.temperatureCelsius} unit="°C" name="temperature" />,
  },
];

function Holders({ gpu }: Readonly<{ gpu: GpuRow }>) {
  if (gpu.allocations.length === 0) return <span className="text-muted">nobody</span>;
  return gpu.allocations.map((allocation, position) => (
    <span key={allocation.id}>
      {position > 0 && ', '}
      <Link href={`/allocations/${allocation.id}`} className="hover:text-accent hover:underline">
        {allocation.userEmail}
      </Link>
    </span>
  ));
}
