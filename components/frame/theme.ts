'use client';

import { useSyncExternalStore } from 'react';

export type ThemeChoice = 'system' | 'light' | 'dark';

// The key and its meaning are shared with public/theme.js, which runs before the page.
const STORAGE_KEY = 'sluice-theme';
const listeners = new Set<() => void>();
let choice: ThemeChoice | null = null;

function readChoice(): ThemeChoice {
  try {
    const stored = localStorage.getItem(STORAGE_KEY);
    return stored === 'light' || stored === 'dark' ? stored : 'system';
  } catch {
    return 'system';
  }
}

function apply(next: ThemeChoice) {
  const systemIsDark = matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.classList.toggle('dark', next === 'dark' || (next === 'system' && systemIsDark));
}

export function setTheme(next: ThemeChoice): void {
  choice = next;
  try {
    localStorage.setItem(STORAGE_KEY, next);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  apply(next);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  const media = matchMedia('(prefers-color-scheme: dark)');
  const follow = () => apply(choice ?? readChoice());
  media.addEventListener('change', follow);
  return () => {
    listeners.delete(listener);
    media.removeEventListener('change', follow);
  };
}

/** The viewer's choice; the system's theme until they make one. */
export function useThemeChoice(): ThemeChoice {
  return useSyncExternalStore(
    subscribe,
    () => (choice ??= readChoice()),
    () => 'system',
  );
}
