// Giving an allocation's GPUs back: its programs are ended, then NVML is asked
// until it shows that they are gone and their memory is back.
import { setTimeout as delay } from 'node:timers/promises';
import type { FreedGpu, GpuSample } from '../../protocol/control/agentMessages';
import { WorkerGoneError, type WorkerControl } from '../proxy/workerControl';
import { judge, takeBaseline, type Baseline } from './releaseProof';

export interface ReleaseTools {
  /** The worker, waiting for it as long as given. Rejects when there is none by then. */
  readonly worker: (timeoutMs: number) => Promise<WorkerControl>;
  readonly samples: () => Promise<GpuSample[]>;
}

export interface Ending {
  readonly allocationId: string;
  readonly reason: string;
  readonly graceMs: number;
  /** GPUs to judge. */
  readonly uuids: readonly string[];
  /** The worker's processes of the allocation; grows while it is being ended. */
  readonly pids: Set<number>;
}

export type ReleaseResult =
  | { readonly released: true; readonly gpus: FreedGpu[]; readonly samples: GpuSample[] }
  | { readonly released: false; readonly reason: string };

// A killed process is off the GPU within milliseconds; a driver that tears down
// a context with tens of GiB has been seen to need seconds.
const proofTimeoutMs = 15_000;
const proofIntervalMs = 100;
const baselineTimeoutMs = 500;
const workerTimeoutMs = 30_000;

/** Ends the allocation on this host and proves that it is off its GPUs. Never rejects. */
export async function releaseAllocation(tools: ReleaseTools, ending: Ending): Promise<ReleaseResult> {
  try {
    const baseline = takeBaseline(ending.uuids, await samplesBefore(tools));
    await endOnWorker(tools, ending);
    return await prove(tools, ending, baseline);
  } catch (error) {
    return { released: false, reason: sentence(error) };
  }
}

/** NVML that hangs must not keep programs alive: without a sample only processes are judged. */
function samplesBefore(tools: ReleaseTools): Promise<GpuSample[]> {
  const none: GpuSample[] = [];
  return Promise.race([tools.samples().catch(() => none), delay(baselineTimeoutMs, none, { ref: false })]);
}

async function prove(tools: ReleaseTools, ending: Ending, baseline: Baseline[]): Promise<ReleaseResult> {
  const deadline = Date.now() + proofTimeoutMs;
  for (;;) {
    const result = await tools.samples().then(
      (samples) => judgeAll(baseline, ending.pids, samples),
      (error: unknown): ReleaseResult => ({ released: false, reason: sentence(error) }),
    );
    if (result.released || Date.now() > deadline) return result;
    // Nothing tells when a driver has finished taking a context apart.
    await delay(proofIntervalMs);
  }
}

function judgeAll(baseline: Baseline[], pids: ReadonlySet<number>, samples: GpuSample[]): ReleaseResult {
  const gpus: FreedGpu[] = [];
  for (const before of baseline) {
    const verdict = judge(before, pids, samples);
    if (!verdict.free) return { released: false, reason: verdict.reason };
    gpus.push(verdict.gpu);
  }
  return { released: true, gpus, samples };
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A worker that ends meanwhile is replaced by one that knows nothing of the allocation and says so. */
async function endOnWorker(tools: ReleaseTools, ending: Ending): Promise<void> {
  for (;;) {
    const control = await tools.worker(workerTimeoutMs);
    try {
      return await control.end(ending.allocationId, ending.reason, ending.graceMs);
    } catch (error) {
      if (!(error instanceof WorkerGoneError)) throw error;
    }
  }
}
