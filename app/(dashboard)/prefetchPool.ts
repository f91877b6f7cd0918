import 'server-only';

import { dehydrate, type DehydratedState } from '@tanstack/react-query';
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query';
import { createQueryClient } from '@/components/trpc/queryClient';
import { createPageContext } from '@/server/api/context';
import { appRouter } from '@/server/api/root';

/**
 * What every page reads, so that the first paint already shows the pool.
 *
 * @returns null when nobody is signed in.
 */
export async function prefetchPool(headers: Headers): Promise<DehydratedState | null> {
  const ctx = await createPageContext(headers);
  if (!ctx.caller) return null;

  const queryClient = createQueryClient();
  const trpc = createTRPCOptionsProxy({ router: appRouter, ctx, queryClient });
  await Promise.all([
    queryClient.prefetchQuery(trpc.auth.me.queryOptions()),
    queryClient.prefetchQuery(trpc.servers.list.queryOptions()),
    queryClient.prefetchQuery(trpc.allocations.list.queryOptions({ active: true })),
    queryClient.prefetchQuery(trpc.tasks.list.queryOptions({ active: true })),
  ]);
  return dehydrate(queryClient);
}
