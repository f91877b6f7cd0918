'use client';

import Link from 'next/link';
import type { ReactNode } from 'react';
import { useServers } from '../data/usePool';
import { formatMemory } from '../format/formatMemory';
import { Left, Since } from '../format/Since';
import type { AllocationRow } from '../trpc/types';
import { CopyButton } from '../ui/CopyButton';
import { DataTable, type Column } from '../ui/DataTable';
import { Panel } from '../ui/Panel';
import { AllocationStatus } from './AllocationStatus';
import { isHolding } from './isHolding';

type HeldGpu = AllocationRow['gpus'][number] & { hostname: string };

/** Who, what, since when, until when; and the GPUs one by one. */
export function AllocationFacts({ allocation }: Readonly<{ allocation: AllocationRow }>) {
  const { data: servers } = useServers();
  const gpus = allocation.gpus.map((gpu) => ({
    ...gpu,
    hostname: servers?.find((server) => server.id === gpu.serverId)?.hostname ?? gpu.serverAddress,
  }));
  return (
    <>
      <dl className="flex flex-wrap gap-x-7 gap-y-2 text-sm">
        <Fact name="State">
          <AllocationStatus allocation={allocation} />
        </Fact>
        <Fact name="Who">{allocation.userEmail}</Fact>
        <Fact name="Purpose">{allocation.purpose ?? <span className="text-faint">none given</span>}</Fact>
        <Fact name="Held for">
          <Since from={allocation.createdAt} to={allocation.endedAt} />
        </Fact>
        {isHolding(allocation) && (
          <Fact name="Lease left">
            <Left at={allocation.leaseExpiresAt} />
          </Fact>
        )}
        <Fact name="Programs now">{allocation.sessions}</Fact>
        {allocation.reason && <Fact name="Reason">{allocation.reason}</Fact>}
        <Fact name="Id">
          <span className="flex items-center font-mono text-xs">
            {allocation.id}
            <CopyButton text={allocation.id} label="Copy the allocation’s id" />
          </span>
        </Fact>
      </dl>
      <Panel title="GPUs">
        <DataTable
          label="GPUs of the allocation"
          rows={gpus}
          columns={columns}
          rowKey={(gpu) => gpu.uuid}
          sortKey="gpus"
          empty={<p className="p-3.5 text-sm text-muted">It waits for GPUs.</p>}
        />
      </Panel>
    </>
  );
}

function Fact({ name, children }: Readonly<{ name: string; children: ReactNode }>) {
  return (
    <div>
      <dt className="text-xs text-muted">{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const columns: Column<HeldGpu>[] = [
  {
    id: 'server',
    header: 'Server',
    cell: (gpu) => (
      <Link href={`/servers/${gpu.serverId}`} className="font-medium hover:text-accent hover:underline">
        {gpu.hostname}
      </Link>
    ),
  },
  { id: 'index', header: 'GPU', align: 'right', cell: (gpu) => gpu.index },
  { id: 'name', header: 'Name', cell: (gpu) => gpu.name },
  {
    id: 'uuid',
    header: 'UUID',
    cell: (gpu) => <span className="font-mono text-xs text-muted">{gpu.uuid}</span>,
  },
  {
    id: 'memory',
    header: 'Memory lent',
    align: 'right',
    cell: (gpu) => (gpu.memoryMib === null ? 'whole GPU' : formatMemory(gpu.memoryMib)),
  },
];
