'use client';

import { useSyncExternalStore } from 'react';
import { serverNow } from './serverClock';

const TICK_MS = 1000;
const listeners = new Set<() => void>();
let now = 0;
let timer: ReturnType<typeof setInterval> | null = null;

function subscribe(listener: () => void) {
  listeners.add(listener);
  if (!timer) {
    const tick = () => {
      now = serverNow();
      for (const each of listeners) each();
    };
    timer = setInterval(tick, TICK_MS);
    queueMicrotask(tick);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0 && timer) {
      clearInterval(timer);
      timer = null;
    }
  };
}

/** The server's time, once a second, one timer for the whole page. 0 until the page runs in a browser. */
export function useNow(): number {
  return useSyncExternalStore(
    subscribe,
    () => now,
    () => 0,
  );
}
