'use client';

import Link from 'next/link';
import type { ReactNode } from 'react';
import { assignColours } from '../charts/colours';
import { MemoryBar } from '../charts/MemoryBar';
import { prepareMemory, type MemoryParts } from '../charts/prepareMemory';
import { mayAllocate } from '../data/roles';
import { useMe } from '../data/usePool';
import { shortUuid } from '../format/formatCount';
import { formatGib, formatMemory } from '../format/formatMemory';
import { GpuHealth } from '../gpus/GpuHealth';
import { GpuSparkline } from '../gpus/GpuSparkline';
import { Reading } from '../gpus/Reading';
import type { GpuRow, ServerRow, TaskRow, TelemetrySeries } from '../trpc/types';
import { Button } from '../ui/Button';
import { CopyButton } from '../ui/CopyButton';
import { NotAvailable } from '../ui/NotAvailable';
import { GpuUsers } from './GpuUsers';

type Props = {
  gpu: GpuRow;
  server: ServerRow;
  series: readonly TelemetrySeries[];
  /** Programs that run on this server. */
  tasks: readonly TaskRow[];
};

/** One GPU of a server: what it is, how full and how busy it is, who is on it. */
export function GpuCard({ gpu, server, series, tasks }: Readonly<Props>) {
  const { data: me } = useMe();
  const memory = prepareMemory(gpu);
  const colours = assignColours(server.gpus.map((one) => one.uuid));
  const offered =
    mayAllocate(me?.role) && server.state === 'ready' && gpu.health !== 'unhealthy' && memory.free > 0;
  return (
    <section
      aria-label={`GPU ${gpu.index}`}
      className="flex flex-col gap-2.5 rounded-lg border border-line bg-surface p-3.5 shadow-panel"
    >
      <header className="flex items-start gap-2">
        <span
          aria-hidden
          className="mt-1.5 size-2 shrink-0 rounded-[2px]"
          style={{ background: colours.get(gpu.uuid) }}
        />
        <div className="min-w-0 flex-1">
          <h2 className="truncate text-sm font-semibold" title={gpu.name}>
            GPU {gpu.index} <span className="font-normal text-muted">{gpu.name}</span>
          </h2>
          <p className="flex items-center text-2xs text-muted" title={gpu.uuid}>
            <span className="font-mono">{shortUuid(gpu.uuid)}</span>
            <CopyButton text={gpu.uuid} label="Copy the UUID" />
          </p>
        </div>
        <GpuHealth health={gpu.health} />
      </header>

      <div className="flex flex-col gap-1.5">
        <MemoryBar memory={memory} className="h-3.5" />
        <MemoryLine memory={memory} />
      </div>

      <div className="flex items-center gap-4">
        <div className="min-w-0 flex-1">
          <GpuSparkline uuid={gpu.uuid} series={series} colour={colours.get(gpu.uuid) ?? ''} />
        </div>
        <Reading value={gpu.utilizationPercent} unit="%" name="utilization" />
        <Reading value={gpu.powerWatts} unit="W" name="power" />
        <Reading value={gpu.temperatureCelsius} unit="°C" name="temperature" />
      </div>

      <GpuUsers gpu={gpu} tasks={tasks} />

      {offered && (
        <footer className="mt-auto pt-0.5">
          <Button asChild size="small">
            <Link href={`/allocations/new?gpu=${encodeURIComponent(gpu.uuid)}`}>
              {gpu.grantedMib > 0 ? 'Allocate the rest' : 'Allocate'}
            </Link>
          </Button>
        </footer>
      )}
    </section>
  );
}

function MemoryLine({ memory }: Readonly<{ memory: MemoryParts }>): ReactNode {
  return (
    <p className="flex flex-wrap justify-between gap-x-3 text-xs text-muted">
      <span>
        {memory.used === null ? (
          <NotAvailable reason="The device does not tell how much memory is in use." />
        ) : (
          <span className="text-ink">{formatGib(memory.used)}</span>
        )}{' '}
        used · <span className="text-ink">{formatGib(memory.granted)}</span> granted /{' '}
        <span className="text-ink">{formatMemory(memory.total)}</span>
      </span>
      <span>
        {formatMemory(memory.free)} free
        {memory.reserved > 0 && ` · ${formatMemory(memory.reserved)} reserved`}
      </span>
    </p>
  );
}
