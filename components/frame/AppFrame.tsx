'use client';

import type { ReactNode } from 'react';
import { LiveProvider } from '../live/LiveProvider';
import { SessionGuard } from './SessionGuard';
import { Sidebar } from './Sidebar';

/** What surrounds every page of a signed-in person. */
export function AppFrame({ children }: Readonly<{ children: ReactNode }>) {
  return (
    <LiveProvider>
      <SessionGuard />
      <a
        href="#content"
        className="sr-only z-50 rounded-md bg-accent px-3 py-1.5 text-on-accent focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to the content
      </a>
      <div className="flex min-h-dvh flex-col-reverse md:flex-row">
        <Sidebar />
        <main id="content" className="min-w-0 flex-1 pb-16 md:pb-0">
          {children}
        </main>
      </div>
    </LiveProvider>
  );
}
