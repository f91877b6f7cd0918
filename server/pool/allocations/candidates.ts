import type { Held } from '../../db/allocations';
import type { GpuRecord } from '../../db/servers';
import type { LivePool, LiveServer } from '../live/live';
import { gpuMemory } from '../live/memory';
import { serverState } from '../live/rows';

/** A GPU that placement may look at, with what is left of it. */
export interface Candidate {
  server: LiveServer;
  gpu: GpuRecord;
  usableMib: number;
  /** What a new part may take at most; 0 while somebody holds the whole GPU. */
  freeMib: number;
  /** Nobody holds any of it and no foreign process uses it. */
  idle: boolean;
}

/**
 * GPUs of servers that take new allocations now. `held` is read in the
 * transaction that also writes the allocation, so two requests never see the same capacity.
 */
export function findCandidates(live: LivePool, held: Map<string, Held>): Candidate[] {
  return [...live.servers.values()]
    .filter((server) => serverState(server) === 'ready')
    .flatMap((server) => server.record.gpus.map((gpu) => candidate(live, server, gpu, held.get(gpu.uuid))));
}

function candidate(live: LivePool, server: LiveServer, gpu: GpuRecord, held: Held | undefined): Candidate {
  const { usableMib, foreignMib } = gpuMemory(live, server, gpu);
  const freeMib = held?.whole ? 0 : Math.max(0, usableMib - foreignMib - (held?.partsMib ?? 0));
  return { server, gpu, usableMib, freeMib, idle: held === undefined && foreignMib === 0 };
}
