'use client';

import Link from 'next/link';
import { MemoryBar, MemoryLegend } from '../charts/MemoryBar';
import { prepareMemory, sumMemory } from '../charts/prepareMemory';
import { formatGib, formatMemory } from '../format/formatMemory';
import type { ServerRow } from '../trpc/types';
import { NotAvailable } from '../ui/NotAvailable';
import { Panel } from '../ui/Panel';

// The fullest servers say where it is tight; all of them are on the servers' page.
const MAX_SERVERS = 5;

/** Memory of the whole pool and of its fullest servers. */
export function MemoryPanel({ servers }: Readonly<{ servers: readonly ServerRow[] }>) {
  const perServer = servers.map((server) => ({ server, memory: sumMemory(server.gpus.map(prepareMemory)) }));
  const pool = sumMemory(perServer.map((entry) => entry.memory));
  const fullest = perServer
    .toSorted(
      (a, b) =>
        b.memory.granted / b.memory.total - a.memory.granted / a.memory.total ||
        compareIds(a.server, b.server),
    )
    .slice(0, MAX_SERVERS);
  return (
    <Panel
      title="Memory"
      aside={`${formatMemory(pool.total)} in all`}
      bodyClassName="flex flex-col gap-3 p-3.5"
    >
      <p>
        <span className="text-lg font-semibold">
          {pool.used === null ? (
            <NotAvailable reason="No GPU tells how much is in use." />
          ) : (
            formatGib(pool.used)
          )}
        </span>
        <span className="text-muted"> used · </span>
        <span className="text-lg font-semibold">{formatGib(pool.granted)}</span>
        <span className="text-muted"> granted / {formatMemory(pool.total)}</span>
      </p>
      <MemoryBar memory={pool} className="h-3.5" />
      <MemoryLegend memory={pool} />
      {servers.length > 1 && (
        <ul className="mt-1 flex flex-col gap-1.5 border-t border-line pt-3">
          {fullest.map(({ server, memory }) => (
            <li key={server.id} className="grid grid-cols-[7rem_1fr] items-center gap-3">
              <Link
                href={`/servers/${server.id}`}
                className="truncate text-xs hover:text-accent hover:underline"
              >
                {server.hostname}
              </Link>
              <MemoryBar memory={memory} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function compareIds(a: ServerRow, b: ServerRow): number {
  return a.id < b.id ? -1 : 1;
}
