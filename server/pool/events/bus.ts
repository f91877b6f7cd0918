import type { PoolEvent } from '../views';

export interface BusEvent {
  id: string;
  event: PoolEvent;
}

/** Listeners of the pool's changes, with the last few kept for those who were cut off. */
export interface EventBus {
  publish(event: PoolEvent): void;
  /**
   * Events after `lastEventId`, then those to come, until `signal` aborts.
   * `snapshot` gives the resync event for whoever starts anew or is too late.
   */
  listen(
    lastEventId: string | null,
    snapshot: () => Promise<PoolEvent>,
    signal: AbortSignal,
  ): AsyncGenerator<BusEvent>;
  readonly listenerCount: number;
}

/**
 * @param epoch differs for each start of the server: ids of an earlier one are too old.
 * @param kept how many events a listener may miss before it gets everything anew.
 */
export function createEventBus(epoch: string, kept = 512): EventBus {
  const ring: { number: number; event: PoolEvent }[] = [];
  const wake = new Set<() => void>();
  let newest = 0;

  const idOf = (number: number): string => `${epoch}.${number}`;

  /** The number to continue after, or null when events were missed for good. */
  function resumeAfter(lastEventId: string | null): number | null {
    if (!lastEventId?.startsWith(`${epoch}.`)) return null;
    const number = Number(lastEventId.slice(epoch.length + 1));
    const oldest = newest - ring.length + 1;
    return Number.isInteger(number) && number >= oldest - 1 && number <= newest ? number : null;
  }

  return {
    publish(event) {
      newest += 1;
      ring.push({ number: newest, event });
      if (ring.length > kept) ring.shift();
      for (const run of wake) run();
    },

    async *listen(lastEventId, snapshot, signal) {
      let wakeUp: () => void = () => undefined;
      const onPublish = (): void => wakeUp();
      // Listening starts before the snapshot is made, so that no change falls between the two.
      wake.add(onPublish);
      signal.addEventListener('abort', onPublish);
      try {
        let sent = resumeAfter(lastEventId);
        while (!signal.aborted) {
          if (sent === null || sent < newest - ring.length) {
            const asOf: number = newest;
            yield { id: idOf(asOf), event: await snapshot() };
            sent = asOf;
          }
          const after: number = sent;
          const missed = ring.filter((entry) => entry.number > after);
          for (const { number, event } of missed) {
            if (signal.aborted) return;
            yield { id: idOf(number), event };
            sent = number;
          }
          if (missed.length > 0 || signal.aborted) continue;
          await new Promise<void>((resolve) => {
            wakeUp = resolve;
            if (sent !== newest) resolve();
          });
        }
      } finally {
        wake.delete(onPublish);
        signal.removeEventListener('abort', onPublish);
      }
    },

    get listenerCount() {
      return wake.size;
    },
  };
}
