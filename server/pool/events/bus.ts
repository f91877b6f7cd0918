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
        // One at a time: whoever takes long to read one event may have missed too many of the next.
        while (!signal.aborted) {
          const dropped: number = newest - ring.length;
          if (sent === null || sent < dropped) {
            const asOf: number = newest;
            yield { id: idOf(asOf), event: await snapshot() };
            sent = asOf;
          } else {
            const next = ring[sent - dropped];
            if (next) {
              yield { id: idOf(next.number), event: next.event };
              sent = next.number;
            } else {
              await new Promise<void>((resolve) => (wakeUp = resolve));
            }
          }
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
