/** Equal steps of time, aligned to whole steps so that a point stays where it was when the window moves on. */
export type TimeGrid = { startMs: number; stepMs: number; count: number };

/** The grid of the last `windowSeconds` before `nowMs`; its last step holds `nowMs`. */
export function timeGrid(nowMs: number, windowSeconds: number, stepSeconds: number): TimeGrid {
  const stepMs = stepSeconds * 1000;
  const count = Math.ceil(windowSeconds / stepSeconds);
  const lastStep = Math.floor(nowMs / stepMs);
  return { startMs: (lastStep - count + 1) * stepMs, stepMs, count };
}

export type Sample = { t: number; value: number | null };

/**
 * The mean of the samples in each step; null where no sample says anything. A missing sample is a gap and
 * is never filled in.
 */
export function meanPerStep(samples: readonly Sample[], grid: TimeGrid): (number | null)[] {
  const sums = new Array<number>(grid.count).fill(0);
  const counts = new Array<number>(grid.count).fill(0);
  for (const { t, value } of samples) {
    const step = Math.floor((t - grid.startMs) / grid.stepMs);
    if (value === null || step < 0 || step >= grid.count) continue;
    sums[step] = (sums[step] ?? 0) + value;
    counts[step] = (counts[step] ?? 0) + 1;
  }
  return sums.map((sum, step) => {
    const count = counts[step] ?? 0;
    return count === 0 ? null : sum / count;
  });
}
