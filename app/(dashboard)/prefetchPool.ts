import 'server-only';

import { dehydrate, type DehydratedState } from '@tanstack/react-query';
import { createTRPCClient } from '@trpc/client';
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query';
import { createQueryClient } from '@/components/trpc/queryClient';
import type { AppRouter } from '@/server/api/root';
import { getServices } from '@/server/api/services';

/**
 * What every page reads, so that the first paint already shows the pool. All of it is open to every role.
 *
 * @returns null when nobody is signed in.
 */
export async function prefetchPool(headers: Headers): Promise<DehydratedState | null> {
  const { auth, pool, version } = getServices();
  const caller = await auth.resolveCaller(headers);
  if (!caller) return null;

  const cache = createQueryClient();
  // Only its keys are used: the services are in this process, so nothing is asked over HTTP.
  const trpc = createTRPCOptionsProxy<AppRouter>({
    client: createTRPCClient<AppRouter>({ links: [] }),
    queryClient: cache,
  });
  const [allocations, tasks] = await Promise.all([
    pool.listAllocations({ active: true }),
    pool.listTasks({ active: true }),
  ]);
  cache.setQueryData(trpc.auth.me.queryKey(), { ...caller, version });
  cache.setQueryData(trpc.servers.list.queryKey(), pool.listServers());
  cache.setQueryData(trpc.allocations.list.queryKey({ active: true }), allocations);
  cache.setQueryData(trpc.tasks.list.queryKey({ active: true }), tasks);
  return dehydrate(cache);
}
