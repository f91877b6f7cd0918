// Evidence, from NVML alone, that GPUs are free of an allocation: none of its
// processes is on them, and the memory that these held is back.
import type { FreedGpu, GpuSample } from '../../protocol/control/agentMessages';

/** What is compared with later: a GPU and the allocation's processes on it before they are ended. */
export interface Baseline {
  readonly uuid: string;
  readonly usedMib: number | null;
  /** Memory in use that belongs to no listed process: the driver's own, and what other contexts do not tell. */
  readonly unexplainedMib: number | null;
}

export type Verdict =
  { readonly free: true; readonly gpu: FreedGpu } | { readonly free: false; readonly reason: string };

/**
 * Memory that may remain beyond what the other processes account for. NVML counts in MiB per process and
 * drivers keep small pools after the last context is gone; a leaked allocation worth a program's while is larger.
 */
export const toleranceMib = 64;

/** Notes the state of the allocation's GPUs. A GPU that NVML does not show has nulls: only processes are judged. */
export function takeBaseline(uuids: readonly string[], samples: readonly GpuSample[]): Baseline[] {
  return uuids.map((uuid) => {
    const sample = samples.find((entry) => entry.uuid === uuid);
    return {
      uuid,
      usedMib: sample?.memoryUsedMib ?? null,
      unexplainedMib: sample ? unexplained(sample) : null,
    };
  });
}

/**
 * Judges one GPU after the allocation's processes were ended.
 * @param pids the worker's processes that served the allocation
 */
export function judge(before: Baseline, pids: ReadonlySet<number>, samples: readonly GpuSample[]): Verdict {
  const sample = samples.find((entry) => entry.uuid === before.uuid);
  if (sample === undefined)
    return { free: false, reason: `GPU ${before.uuid} does not answer NVML any more` };
  const left = sample.processes.filter((process) => pids.has(process.pid));
  if (left.length > 0) {
    const list = left.map((process) => process.pid).join(', ');
    return { free: false, reason: `process ${list} of the allocation is still on GPU ${before.uuid}` };
  }
  const now = unexplained(sample);
  if (now !== null && before.unexplainedMib !== null && now > before.unexplainedMib + toleranceMib) {
    const excess = now - before.unexplainedMib;
    return {
      free: false,
      reason: `${excess} MiB on GPU ${before.uuid} did not come back and belong to no process`,
    };
  }
  return {
    free: true,
    gpu: {
      uuid: before.uuid,
      processesLeft: 0,
      memoryUsedMibBefore: before.usedMib,
      memoryUsedMibAfter: sample.memoryUsedMib,
    },
  };
}

/** null when the GPU or one of its processes does not tell its memory. Never below 0. */
function unexplained(sample: GpuSample): number | null {
  if (sample.memoryUsedMib === null) return null;
  let explained = 0;
  for (const process of sample.processes) {
    if (process.usedMib === null) return null;
    explained += process.usedMib;
  }
  return Math.max(0, sample.memoryUsedMib - explained);
}
