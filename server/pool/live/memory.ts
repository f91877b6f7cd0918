import type { GpuRecord } from '../../db/servers';
import type { LivePool, LiveServer } from './live';

const BYTES_PER_MIB = 1024 * 1024;

/** What the pool may give of a GPU, in MiB, apart from what allocations hold. */
export interface GpuMemory {
  /** Total without what the driver keeps for itself. */
  usableMib: number;
  /** Used by processes that the pool did not start. */
  foreignMib: number;
}

/** Reads the newest sample; without one, only the inventory speaks. */
export function gpuMemory(live: LivePool, server: LiveServer, gpu: GpuRecord): GpuMemory {
  const sample = server.samples.get(gpu.uuid)?.sample;
  const usableMib = gpu.memoryTotalMib - (sample?.memoryReservedMib ?? 0);
  if (!sample) return { usableMib, foreignMib: 0 };

  // Two independent counts. Each alone is wrong in some place: process ids
  // differ between containers, and the drivers' own use per process is not in
  // our programs' counters. Foreign memory is at most the smaller one.
  const ours = live
    .tasksOfServer(server.record.id)
    .reduce((sum, task) => sum + usedMibOn(task.stats?.gpus ?? [], gpu.uuid), 0);
  const beyondOurs = Math.max(0, (sample.memoryUsedMib ?? 0) - ours);
  const strangers = sample.processes.filter((process) => !live.isOurPid(server.record.id, process.pid));
  if (strangers.some((process) => process.usedMib === null)) return { usableMib, foreignMib: beyondOurs };
  const byProcess = strangers.reduce((sum, process) => sum + (process.usedMib ?? 0), 0);
  return { usableMib, foreignMib: Math.min(beyondOurs, byProcess) };
}

export function toMib(bytes: number): number {
  return bytes / BYTES_PER_MIB;
}

function usedMibOn(gpus: readonly { uuid: string; usedBytes: number }[], uuid: string): number {
  return gpus.reduce((sum, gpu) => sum + (gpu.uuid === uuid ? toMib(gpu.usedBytes) : 0), 0);
}
