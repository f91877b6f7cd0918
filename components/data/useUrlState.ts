'use client';

import { usePathname, useSearchParams } from 'next/navigation';
import { useCallback } from 'react';

/**
 * One piece of a page's state, kept in the address so that it can be shared and survives a reload.
 * The default is not written. Replaces the history entry: filters are not steps to go back through.
 */
export function useUrlState(key: string, fallback: string): [string, (value: string) => void] {
  const search = useSearchParams();
  const path = usePathname();
  const value = search.get(key) ?? fallback;
  const setValue = useCallback(
    (next: string) => {
      const params = new URLSearchParams(window.location.search);
      if (next === fallback) params.delete(key);
      else params.set(key, next);
      const query = params.toString();
      window.history.replaceState(null, '', query ? `${path}?${query}` : path);
    },
    [fallback, key, path],
  );
  return [value, setValue];
}
