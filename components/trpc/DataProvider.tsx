'use client';

import type { AppRouter } from '@/server/api/root';
import { QueryClientProvider } from '@tanstack/react-query';
import { createTRPCClient, httpBatchLink, httpSubscriptionLink, splitLink } from '@trpc/client';
import { useState, type ReactNode } from 'react';
import superjson from 'superjson';
import { observeServerDate } from '../data/serverClock';
import { TRPCProvider } from './context';
import { createQueryClient } from './queryClient';

const API_PATH = '/api/trpc';

function createClient() {
  return createTRPCClient<AppRouter>({
    links: [
      splitLink({
        condition: (operation) => operation.type === 'subscription',
        true: httpSubscriptionLink({ url: API_PATH, transformer: superjson }),
        false: httpBatchLink({
          url: API_PATH,
          transformer: superjson,
          fetch: async (url, options) => {
            const response = await fetch(url, { ...options, credentials: 'same-origin' });
            observeServerDate(response.headers.get('date'));
            return response;
          },
        }),
      }),
    ],
  });
}

/** Gives all below it the API client and its cache. */
export function DataProvider({ children }: Readonly<{ children: ReactNode }>) {
  const [queryClient] = useState(createQueryClient);
  const [trpcClient] = useState(createClient);
  return (
    <QueryClientProvider client={queryClient}>
      <TRPCProvider trpcClient={trpcClient} queryClient={queryClient}>
        {children}
      </TRPCProvider>
    </QueryClientProvider>
  );
}
