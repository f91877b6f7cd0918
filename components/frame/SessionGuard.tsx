'use client';

import { usePathname } from 'next/navigation';
import { useEffect } from 'react';
import { useMe } from '../data/usePool';
import { describeError } from '../trpc/describeError';

/** Sends to the sign-in page when the session ended while the page was open, and back here afterwards. */
export function SessionGuard() {
  const { error } = useMe();
  const path = usePathname();
  const ended = error !== null && describeError(error).code === 'SIGN_IN_REQUIRED';
  useEffect(() => {
    if (ended) window.location.assign(`/sign-in?next=${encodeURIComponent(path + window.location.search)}`);
  }, [ended, path]);
  return null;
}
