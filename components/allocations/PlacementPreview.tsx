'use client';

import { MemoryBar } from '../charts/MemoryBar';
import { prepareMemory } from '../charts/prepareMemory';
import { countOf } from '../format/formatCount';
import { formatMemory } from '../format/formatMemory';
import type { GpuRow, ServerRow } from '../trpc/types';
import { cn } from '../ui/cn';
import { Status } from '../ui/Status';
import type { Placement } from './preparePlacement';

// Beyond this a preview is no longer looked at; what would be taken is always among those shown.
const MAX_SERVERS = 12;

/** The servers that are considered with their GPUs, those that would be taken marked; or what stands in the way. */
export function PlacementPreview({ placement }: Readonly<{ placement: Placement }>) {
  const chosen = new Set(placement.chosen);
  const isTaken = (server: ServerRow) => server.gpus.some((gpu) => chosen.has(gpu.uuid));
  const ordered = [
    ...placement.servers.filter(isTaken),
    ...placement.servers.filter((server) => !isTaken(server)),
  ];
  const shown = ordered.slice(0, MAX_SERVERS);
  return (
    <div className="flex flex-col gap-3.5 p-3.5">
      <p role="status" className="text-sm">
        {placement.obstacle === null ? (
          <Status tone="ok">{describeChoice(chosen.size)}</Status>
        ) : (
          <span className="flex gap-2">
            <span aria-hidden className="text-warn">
              ▲
            </span>
            {placement.obstacle}
          </span>
        )}
      </p>
      {shown.map((server) => (
        <section key={server.id} aria-label={server.hostname}>
          <h3 className="mb-1.5 text-xs text-muted">
            <span className="font-medium text-ink">{server.hostname}</span> {server.address}
          </h3>
          <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,220px),1fr))] gap-2">
            {server.gpus.map((gpu) => (
              <PreviewGpu key={gpu.uuid} gpu={gpu} taken={chosen.has(gpu.uuid)} />
            ))}
          </ul>
        </section>
      ))}
      {ordered.length > shown.length && (
        <p className="text-xs text-muted">
          and {countOf(ordered.length - shown.length, 'more server')} like these
        </p>
      )}
    </div>
  );
}

function describeChoice(gpus: number): string {
  return gpus === 1 ? 'The marked GPU would be taken.' : `The ${gpus} marked GPUs would be taken.`;
}

function PreviewGpu({ gpu, taken }: Readonly<{ gpu: GpuRow; taken: boolean }>) {
  const memory = prepareMemory(gpu);
  return (
    <li
      className={cn(
        'flex flex-col gap-1.5 rounded-md border px-2.5 py-2 text-xs',
        taken ? 'border-accent bg-accent-soft' : 'border-line',
      )}
    >
      <p className="flex justify-between gap-2">
        <span className="truncate font-medium" title={gpu.name}>
          GPU {gpu.index} <span className="font-normal text-muted">{gpu.name}</span>
        </span>
        {taken && <span className="shrink-0 text-accent">✓ chosen</span>}
      </p>
      <MemoryBar memory={memory} />
      <p className="text-muted">
        {formatMemory(memory.free)} free of {formatMemory(memory.total)}
      </p>
    </li>
  );
}
