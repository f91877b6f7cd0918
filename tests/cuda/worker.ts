// A software GPU of the test's own and a worker that serves it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { LocalWorker, type GrantedGpu } from '../../server/benchmarks/proxy/localWorker';
import type {
  WorkerSession,
  WorkerSessionEnded,
  WorkerSessionStats,
} from '../../server/proxy/controlMessages';
import { native, samplesFolder, start } from './programs';

export interface TestPool {
  readonly worker: LocalWorker;
  /** The variables of a program that uses the software GPU without a proxy. */
  readonly direct: Readonly<Record<string, string | null>>;
  readonly uuids: readonly string[];
  readonly events: WorkerEvents;
  stop(): Promise<void>;
}

/** NVIDIA's driver, when the tests are to run on it (npm run test:gpu) and not on the software GPU. */
export const realDriver = process.env.SLUICE_TEST_DRIVER || null;

/** Starts a worker on software GPUs that nobody else sees, or on this machine's own GPUs. */
export async function startPool(softgpu = '1x(memory=8GiB,cc=10.0,sms=16)', tls = true): Promise<TestPool> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-cuda-'));
  const environment = { SLUICE_SOFTGPU: softgpu, SLUICE_SOFTGPU_DIR: join(folder, 'softgpu') };
  const driver = realDriver ?? native.softgpuDriver;
  const direct = {
    ...environment,
    LD_LIBRARY_PATH: dirname(driver),
    SLUICE_GRANT: null,
    SLUICE_GRANT_FILE: null,
  };
  const query = await start(join(samplesFolder, 'device_query'), [], direct).done;
  if (query.code !== 0) throw new Error(`device_query fails on ${driver}: ${query.stderr}`);
  const uuids = [...query.stdout.matchAll(/GPU-[0-9a-f-]{36}/g)].map(([uuid]) => uuid);
  const worker = await LocalWorker.start({ native, driver, environment, tls, folder });
  return {
    worker,
    direct,
    uuids,
    events: new WorkerEvents(worker),
    async stop() {
      await worker.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A grant of the pool's first GPU; memoryMib null: all of it. */
export async function grantOne(pool: TestPool, memoryMib: number | null) {
  const gpus: GrantedGpu[] = [{ uuid: pool.uuids[0] ?? '', memoryMib }];
  return pool.worker.grant(gpus);
}

/** What the worker reported, to be waited for. */
export class WorkerEvents {
  private readonly started: WorkerSession[] = [];
  private readonly ended: WorkerSessionEnded[] = [];
  private stats: WorkerSessionStats[] = [];
  private wakers: (() => void)[] = [];

  constructor(worker: LocalWorker) {
    worker.control.on('sessionStarted', (session) => this.wake(this.started.push(session)));
    worker.control.on('sessionEnded', (session) => this.wake(this.ended.push(session)));
    worker.control.on('stats', (sessions) => {
      this.stats = sessions;
      this.wake(1);
    });
  }

  /** The session that program `pid` opened. */
  sessionOf(pid: number): Promise<WorkerSession> {
    return this.until(`a session of process ${pid}`, () =>
      this.started.find(({ client }) => client.pid === pid),
    );
  }

  /** Whether program `pid` has opened one so far. */
  hasSessionOf(pid: number): boolean {
    return this.started.some(({ client }) => client.pid === pid);
  }

  /** How the session ended. */
  endOf(id: string, timeoutMs?: number): Promise<WorkerSessionEnded> {
    return this.until(
      `the end of session ${id}`,
      () => this.ended.find((session) => session.id === id),
      timeoutMs,
    );
  }

  /** Statistics of a running session for which `fits` holds. */
  statsOf(id: string, fits: (stats: WorkerSessionStats) => boolean): Promise<WorkerSessionStats> {
    return this.until(`statistics of session ${id}`, () =>
      this.stats.find((entry) => entry.id === id && fits(entry)),
    );
  }

  /** Statistics in which no session uses memory any more. */
  idle(): Promise<true> {
    return this.until('a pool without sessions', () => this.stats.length === 0 || undefined);
  }

  private async until<T>(what: string, look: () => T | undefined, timeoutMs = 20_000): Promise<T> {
    const deadline = AbortSignal.timeout(timeoutMs);
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      if (deadline.aborted) throw new Error(`waited ${timeoutMs / 1000} s for ${what}`);
      await new Promise<void>((resolve) => {
        this.wakers.push(resolve);
        deadline.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  private wake(_count: number): void {
    const wakers = this.wakers;
    this.wakers = [];
    wakers.forEach((waker) => waker());
  }
}
