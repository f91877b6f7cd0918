// Holding an allocation while a program runs, and giving it back.
import { setTimeout as delay } from 'node:timers/promises';
import { errorCode, type PoolClient } from './poolClient';

interface Leased {
  readonly id: string;
  readonly version: number;
  readonly leaseSeconds: number;
}

// After a failed renewal the next try comes sooner than the next third of the lease.
const retryMs = 2_000;
const releasedTimeoutMs = 10_000;
const over = new Set(['ALLOCATION_NOT_ACTIVE', 'ALLOCATION_NOT_FOUND']);

/** Renews at each third of the lease until `stop`. A server that is away is asked again until it is back. */
export function keepLease(pool: PoolClient, allocation: Leased): { stop: () => void } {
  const stopping = new AbortController();
  const renewAll = async () => {
    let { version } = allocation;
    let waitMs = (allocation.leaseSeconds * 1000) / 3;
    for (;;) {
      await delay(waitMs, undefined, { signal: stopping.signal });
      try {
        version = (await pool.api.allocations.renew.mutate({ id: allocation.id, version })).version;
        waitMs = (allocation.leaseSeconds * 1000) / 3;
      } catch (error) {
        const code = errorCode(error);
        // Revoked or expired: the program is told by the worker, in words.
        if (code !== null && over.has(code)) return;
        if (code === 'STALE_VERSION')
          version = (await pool.api.allocations.get.query({ id: allocation.id })).version;
        waitMs = code === 'STALE_VERSION' ? 0 : retryMs;
      }
    }
  };
  // The only way out besides `over` is `stop`, or a read that fails: the lease then runs out by itself.
  renewAll().catch(() => undefined);
  return { stop: () => stopping.abort() };
}

/**
 * Gives an allocation back and waits until its GPUs are free, so that the next command finds them. Resolves
 * with a sentence when that could not be seen; its lease then ends it.
 */
export async function giveBack(pool: PoolClient, id: string): Promise<string | null> {
  const deadline = AbortSignal.timeout(releasedTimeoutMs);
  try {
    let row = await pool.api.allocations.release.mutate({ id }, { signal: deadline });
    for (
      let waitMs = 20;
      row.state === 'releasing' && !deadline.aborted;
      waitMs = Math.min(waitMs * 2, 500)
    ) {
      await delay(waitMs);
      row = await pool.api.allocations.get.query({ id }, { signal: deadline });
    }
    return row.state === 'releasing'
      ? `The allocation ${id} is given back, but its GPUs are not free yet.`
      : null;
  } catch (error) {
    if (over.has(errorCode(error) ?? '')) return null;
    return `The allocation ${id} could not be given back now; it ends by itself when its lease is over.`;
  }
}
