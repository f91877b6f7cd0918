import type { Clock } from '@/server/pool/clock';

/** A clock that stands still until a test turns it. */
export interface ManualClock extends Clock {
  /** Runs every timer that becomes due, in order of time. */
  advance(ms: number): void;
}

export function createManualClock(start = Date.parse('2026-06-01T00:00:00Z')): ManualClock {
  let now = start;
  const timers = new Set<{ at: number; run: () => void }>();
  return {
    now: () => now,
    after(ms, run) {
      const timer = { at: now + ms, run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    advance(ms) {
      const end = now + ms;
      for (;;) {
        const [next] = [...timers].filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at);
        if (!next) break;
        timers.delete(next);
        now = Math.max(now, next.at);
        next.run();
      }
      now = end;
    },
  };
}
