import { QueryClient } from '@tanstack/react-query';
import { describeError } from './describeError';

/**
 * The one factory of query clients. Answers never go stale by age: the event stream brings every change,
 * and after a gap in the stream all of them are fetched anew.
 */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: Number.POSITIVE_INFINITY,
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
        // What the server refuses, it refuses again; only a missing answer is worth asking for twice.
        retry: (failures, error) => failures < 2 && describeError(error).code === null,
      },
    },
  });
}
