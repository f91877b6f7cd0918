'use client';

import { formatMemory } from '../format/formatMemory';
import { cn } from '../ui/cn';
import { Tooltip } from '../ui/Tooltip';
import type { MemoryParts } from './prepareMemory';

type Part = { key: string; label: string; mib: number; className: string };

function partsOf(memory: MemoryParts): Part[] {
  return [
    { key: 'used', label: 'used', mib: memory.usedByPool, className: 'bg-(--bar-used)' },
    { key: 'granted', label: 'granted, not used', mib: memory.grantedUnused, className: 'hatched' },
    {
      key: 'foreign',
      label: 'used outside the pool',
      mib: memory.foreign,
      className: 'border border-warn bg-warn-soft',
    },
    { key: 'reserved', label: 'kept by the driver', mib: memory.reserved, className: 'bg-(--bar-reserved)' },
    { key: 'free', label: 'free', mib: memory.free, className: '' },
  ];
}

function describe(memory: MemoryParts): string {
  const used = memory.used === null ? 'use unknown' : `${formatMemory(memory.used)} used`;
  return `Memory: ${used}, ${formatMemory(memory.granted)} granted, of ${formatMemory(memory.total)}`;
}

/**
 * The one bar for memory, in rows, cards and panels. Its tooltip is the legend with figures; its name says the same
 * to a screen reader, so that the bars of a long table are no stops of the Tab key.
 */
export function MemoryBar({ memory, className }: Readonly<{ memory: MemoryParts; className?: string }>) {
  const parts = partsOf(memory);
  return (
    <Tooltip content={<MemoryLegend memory={memory} />}>
      <div
        role="img"
        aria-label={describe(memory)}
        className={cn(
          'flex h-2.5 w-full overflow-hidden rounded-[3px] bg-sunken ring-1 ring-line ring-inset',
          className,
        )}
      >
        {parts
          .filter((part) => part.key !== 'free' && part.mib > 0)
          .map((part) => (
            <span
              key={part.key}
              className={cn('h-full min-w-0.5', part.className)}
              style={{ width: `${(part.mib / memory.total) * 100}%` }}
            />
          ))}
      </div>
    </Tooltip>
  );
}

/** What each part of the bar means, with its size. Parts of size 0 are left out, free is always told. */
export function MemoryLegend({ memory }: Readonly<{ memory: MemoryParts }>) {
  return (
    <dl className="grid grid-cols-[auto_1fr_auto] items-center gap-x-2 gap-y-1 text-xs">
      {partsOf(memory)
        .filter((part) => part.mib > 0 || part.key === 'free')
        .map((part) => (
          <div key={part.key} className="contents">
            <span
              aria-hidden
              className={cn('size-2.5 rounded-[2px] ring-1 ring-line ring-inset', part.className)}
            />
            <dt className="text-muted">{part.label}</dt>
            <dd className="pl-3 text-right">{formatMemory(part.mib)}</dd>
          </div>
        ))}
    </dl>
  );
}
