'use client';

import type { ReactNode } from 'react';
import { DataProvider } from '../trpc/DataProvider';
import { TooltipProvider } from '../ui/Tooltip';

const TOOLTIP_DELAY_MS = 250;

/** What every page needs around it, signed in or not. */
export function AppProviders({ children }: Readonly<{ children: ReactNode }>) {
  return (
    <DataProvider>
      <TooltipProvider delayDuration={TOOLTIP_DELAY_MS}>{children}</TooltipProvider>
    </DataProvider>
  );
}
