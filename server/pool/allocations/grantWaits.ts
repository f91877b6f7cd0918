import { SluiceError } from '../../errors';
import type { Clock } from '../clock';

/** Requests that wait until the workers have a grant of a certain version. */
export interface GrantWaits {
  /**
   * @throws GRANT_FAILED with the worker's reason, GRANT_TIMEOUT, or
   * REQUEST_ABORTED when `signal` aborts first.
   */
  wait(id: string, version: number, signal?: AbortSignal): Promise<void>;
  ready(id: string, version: number): void;
  /** @returns false when nobody waits for it. */
  failed(id: string, version: number, reason: string): boolean;
  /** The allocation ends before it was ready. */
  ended(id: string, reason: string): void;
}

/** Setting up a worker takes milliseconds; a host under load may take seconds. */
export const GRANT_TIMEOUT_MS = 15_000;

export function createGrantWaits(clock: Clock): GrantWaits {
  const waiting = new Map<string, Set<Waiter>>();

  function settle(id: string, matches: (waiter: Waiter) => boolean, error: SluiceError | null): boolean {
    const matching = [...(waiting.get(id) ?? [])].filter(matches);
    for (const waiter of matching) waiter.settle(error);
    return matching.length > 0;
  }

  return {
    wait(id, version, signal) {
      return new Promise((resolve, reject) => {
        const abort = (): void =>
          waiter.settle(new SluiceError('REQUEST_ABORTED', 'The request was given up.'));
        const waiter: Waiter = {
          version,
          settle(error) {
            cancel();
            signal?.removeEventListener('abort', abort);
            const others = waiting.get(id);
            others?.delete(waiter);
            if (others?.size === 0) waiting.delete(id);
            if (error) reject(error);
            else resolve();
          },
        };
        const cancel = clock.after(GRANT_TIMEOUT_MS, () => waiter.settle(timeoutError()));
        waiting.set(id, (waiting.get(id) ?? new Set()).add(waiter));
        if (signal?.aborted) abort();
        else signal?.addEventListener('abort', abort);
      });
    },
    ready: (id, version) => void settle(id, (waiter) => waiter.version <= version, null),
    failed: (id, version, reason) =>
      settle(
        id,
        (waiter) => waiter.version === version,
        new SluiceError('GRANT_FAILED', `The GPU server could not prepare the allocation: ${reason}`, {
          hint: 'Nothing is held. `sluice health` shows what is wrong with the server.',
        }),
      ),
    ended: (id, reason) =>
      void settle(
        id,
        () => true,
        new SluiceError('ALLOCATION_NOT_ACTIVE', `The allocation has been ended: ${reason}`),
      ),
  };
}

interface Waiter {
  version: number;
  settle(error: SluiceError | null): void;
}

function timeoutError(): SluiceError {
  return new SluiceError(
    'GRANT_TIMEOUT',
    `The GPU server did not answer within ${GRANT_TIMEOUT_MS / 1000} s.`,
    {
      hint: 'Nothing is held. `sluice health` shows whether the server is reachable.',
    },
  );
}
