import { isHolding } from '../allocations/isHolding';
import type { AllocationRow, ServerRow, TaskRow } from '../trpc/types';

export type Overview = {
  gpus: number;
  /** GPUs that somebody holds. */
  granted: number;
  /** Held GPUs on which no program runs: paid for and unused. */
  grantedIdle: number;
  /** Healthy GPUs of ready servers that nobody holds. */
  free: number;
  unhealthy: number;
  servers: number;
  serversNotReady: number;
  runningTasks: number;
  activeAllocations: number;
  queued: number;
};

/** The pool in figures. GPUs of an unreachable server are neither free nor unhealthy: nobody knows. */
export function prepareOverview(
  servers: readonly ServerRow[],
  allocations: readonly AllocationRow[],
  tasks: readonly TaskRow[],
): Overview {
  const running = tasks.filter((task) => task.endedAt === null);
  const busy = new Set(running.flatMap((task) => task.gpus.map((gpu) => gpu.uuid)));
  const gpus = servers.flatMap((server) => server.gpus.map((gpu) => ({ server, gpu })));
  const granted = gpus.filter(({ gpu }) => gpu.allocations.length > 0);
  return {
    gpus: gpus.length,
    granted: granted.length,
    grantedIdle: granted.filter(({ gpu }) => !busy.has(gpu.uuid)).length,
    free: gpus.filter(
      ({ gpu, server }) =>
        gpu.allocations.length === 0 && server.state === 'ready' && gpu.health !== 'unhealthy',
    ).length,
    unhealthy: gpus.filter(({ gpu }) => gpu.health === 'unhealthy').length,
    servers: servers.length,
    serversNotReady: servers.filter((server) => server.state !== 'ready').length,
    runningTasks: running.length,
    activeAllocations: allocations.filter(isHolding).length,
    queued: allocations.filter((allocation) => allocation.state === 'queued').length,
  };
}
