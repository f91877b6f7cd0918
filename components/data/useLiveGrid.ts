'use client';

import { timeGrid, type TimeGrid } from '../charts/timeGrid';
import { useNow } from './useNow';
import { LIVE_WINDOW_SECONDS } from './windows';

// Two samples per step: a sample that is a little late does not make a gap.
const STEP_SECONDS = 2;

/** The steps of the live charts, up to now by the server's clock; null until the page runs in a browser. */
export function useLiveGrid(): TimeGrid | null {
  const now = useNow();
  // The step that has just begun has no sample yet and would always look like a gap.
  return now === 0 ? null : timeGrid(now - STEP_SECONDS * 1000, LIVE_WINDOW_SECONDS, STEP_SECONDS);
}
