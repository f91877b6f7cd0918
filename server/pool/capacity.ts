import type { Clock } from './clock';
import type { CapacitySignal } from './context';

export function createCapacitySignal(clock: Clock): CapacitySignal {
  const waiting = new Set<() => void>();
  return {
    changed() {
      for (const wake of [...waiting]) wake();
    },
    wait(ms, signal) {
      return new Promise((resolve) => {
        const done = (): void => {
          waiting.delete(done);
          cancel();
          signal?.removeEventListener('abort', done);
          resolve();
        };
        const cancel = clock.after(ms, done);
        waiting.add(done);
        if (signal?.aborted) done();
        else signal?.addEventListener('abort', done);
      });
    },
  };
}
