import type { GpuRow } from '../trpc/types';

/** One GPU's or many GPUs' memory in MiB, in parts that add up to the total. */
export type MemoryParts = {
  total: number;
  /** In use; null when no GPU tells. */
  used: number | null;
  /** Promised to allocations. */
  granted: number;
  /** The part of `used` that is not foreign. */
  usedByPool: number;
  /** Promised and not in use. */
  grantedUnused: number;
  /** In use by programs that the pool did not start. */
  foreign: number;
  /** Kept by the driver. */
  reserved: number;
  free: number;
};

/**
 * Splits a GPU's memory. Foreign is what processes hold that serve no task of the pool. Without a reading from
 * the device only what was granted is known.
 */
export function prepareMemory(gpu: GpuRow): MemoryParts {
  const total = gpu.memoryTotalMib;
  const reserved = Math.min(gpu.memoryReservedMib ?? 0, total);
  const usable = total - reserved;
  const used = gpu.memoryUsedMib === null ? null : Math.min(gpu.memoryUsedMib, usable);
  const byForeignProcesses = gpu.processes
    .filter((process) => process.taskId === null)
    .reduce((sum, process) => sum + (process.usedMib ?? 0), 0);
  const foreign = Math.min(used ?? 0, byForeignProcesses);
  const usedByPool = (used ?? 0) - foreign;
  const room = usable - foreign;
  const grantedUnused = Math.max(0, Math.min(gpu.grantedMib, room) - usedByPool);
  return {
    total,
    used,
    granted: gpu.grantedMib,
    usedByPool,
    grantedUnused,
    foreign,
    reserved,
    free: Math.max(0, room - usedByPool - grantedUnused),
  };
}

/** The sum over several GPUs; `used` is null only when none of them tells. */
export function sumMemory(parts: readonly MemoryParts[]): MemoryParts {
  const sum = (pick: (part: MemoryParts) => number) => parts.reduce((total, part) => total + pick(part), 0);
  return {
    total: sum((part) => part.total),
    used: parts.some((part) => part.used !== null) ? sum((part) => part.used ?? 0) : null,
    granted: sum((part) => part.granted),
    usedByPool: sum((part) => part.usedByPool),
    grantedUnused: sum((part) => part.grantedUnused),
    foreign: sum((part) => part.foreign),
    reserved: sum((part) => part.reserved),
    free: sum((part) => part.free),
  };
}
