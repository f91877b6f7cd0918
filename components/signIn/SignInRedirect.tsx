'use client';

import { useEffect } from 'react';

/** Leads a visitor who is not signed in to the sign-in page, and from there back to the address they asked for. */
export function SignInRedirect() {
  useEffect(() => {
    const { pathname, search } = window.location;
    window.location.replace(`/sign-in?next=${encodeURIComponent(pathname + search)}`);
  }, []);
  return <p className="sr-only">You are led to the sign-in page.</p>;
}
