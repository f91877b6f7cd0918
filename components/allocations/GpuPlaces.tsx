'use client';

import Link from 'next/link';
import { useServers } from '../data/usePool';
import type { AllocationRow } from '../trpc/types';

/** An allocation's GPUs by server: "node1 GPU 0, 1". */
export function GpuPlaces({ allocation }: Readonly<{ allocation: AllocationRow }>) {
  const { data: servers } = useServers();
  if (allocation.gpus.length === 0) return <span className="text-faint">none yet</span>;
  const serverIds = [...new Set(allocation.gpus.map((gpu) => gpu.serverId))];
  return serverIds.map((serverId, position) => {
    const gpus = allocation.gpus.filter((gpu) => gpu.serverId === serverId);
    const hostname = servers?.find((server) => server.id === serverId)?.hostname ?? gpus[0]?.serverAddress;
    return (
      <span key={serverId}>
        {position > 0 && '; '}
        <Link
          href={`/servers/${serverId}`}
          title={gpus.map((gpu) => gpu.uuid).join('\n')}
          className="hover:text-accent hover:underline"
        >
          {hostname} GPU {gpus.map((gpu) => gpu.index).join(', ')}
        </Link>
      </span>
    );
  });
}
