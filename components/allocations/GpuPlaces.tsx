'use client';

import Link from 'next/link';
import { useServers } from '../data/usePool';

/** Where a GPU is: enough to name it as people do. */
export type GpuPlace = { uuid: string; serverId: string; serverAddress: string; index: number };

/** GPUs by server: "node1 GPU 0, 1". A bare index would mean nothing across servers. */
export function GpuPlaces({ gpus }: Readonly<{ gpus: readonly GpuPlace[] }>) {
  const { data: servers } = useServers();
  if (gpus.length === 0) return <span className="text-faint">none yet</span>;
  const serverIds = [...new Set(gpus.map((gpu) => gpu.serverId))];
  return serverIds.map((serverId, position) => {
    const here = gpus.filter((gpu) => gpu.serverId === serverId);
    const hostname = servers?.find((server) => server.id === serverId)?.hostname ?? here[0]?.serverAddress;
    return (
      <span key={serverId}>
        {position > 0 && '; '}
        <Link
          href={`/servers/${serverId}`}
          title={here.map((gpu) => gpu.uuid).join('\n')}
          className="hover:text-accent hover:underline"
        >
          {hostname} GPU {here.map((gpu) => gpu.index).join(', ')}
        </Link>
      </span>
    );
  });
}
