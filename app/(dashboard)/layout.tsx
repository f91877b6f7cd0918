import { HydrationBoundary } from '@tanstack/react-query';
import { headers } from 'next/headers';
import { redirect } from 'next/navigation';
import type { ReactNode } from 'react';
import { AppFrame } from '@/components/frame/AppFrame';
import { prefetchPool } from './prefetchPool';

export default async function DashboardLayout({ children }: Readonly<{ children: ReactNode }>) {
  const state = await prefetchPool(await headers());
  if (!state) redirect('/sign-in');
  return (
    <HydrationBoundary state={state}>
      <AppFrame>{children}</AppFrame>
    </HydrationBoundary>
  );
}
