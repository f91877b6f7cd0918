import { HydrationBoundary } from '@tanstack/react-query';
import { headers } from 'next/headers';
import type { ReactNode } from 'react';
import { AppFrame } from '@/components/frame/AppFrame';
import { SignInRedirect } from '@/components/signIn/SignInRedirect';
import { prefetchPool } from './prefetchPool';

export default async function DashboardLayout({ children }: Readonly<{ children: ReactNode }>) {
  const state = await prefetchPool(await headers());
  if (!state) return <SignInRedirect />;
  return (
    <HydrationBoundary state={state}>
      <AppFrame>{children}</AppFrame>
    </HydrationBoundary>
  );
}
