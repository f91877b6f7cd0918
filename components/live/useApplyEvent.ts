'use client';

import { useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { LIVE_WINDOW_SECONDS } from '../data/windows';
import { useTRPC } from '../trpc/context';
import type { LiveEvent } from '../trpc/types';
import { taskKey } from '../tasks/taskKey';
import { mergeRows } from './mergeRows';
import { appendSamples, updateGpuReadings } from './mergeTelemetry';

const idOf = (row: { id: string }) => row.id;
const KEEP_MS = LIVE_WINDOW_SECONDS * 1000;

/** Returns the function that puts what the server pushes into the cache that all pages read. */
export function useApplyEvent(): (event: LiveEvent) => void {
  const trpc = useTRPC();
  const cache = useQueryClient();

  return useCallback(
    (event: LiveEvent) => {
      const serversKey = trpc.servers.list.queryKey();
      const allocationsKey = trpc.allocations.list.queryKey({});
      const tasksKey = trpc.tasks.list.queryKey({});
      switch (event.kind) {
        case 'telemetry': {
          const telemetryKey = trpc.telemetry.recent.queryKey({ seconds: LIVE_WINDOW_SECONDS });
          cache.setQueryData(telemetryKey, (old) =>
            old ? { ...old, series: appendSamples(old.series, event.series, KEEP_MS) } : undefined,
          );
          cache.setQueryData(serversKey, (old) => (old ? updateGpuReadings(old, event.series) : undefined));
          break;
        }
        case 'servers':
          cache.setQueryData(serversKey, (old) =>
            old ? mergeRows(old, event.servers, idOf, 'end') : undefined,
          );
          break;
        case 'allocations':
          cache.setQueryData(allocationsKey, (old) =>
            old ? mergeRows(old, event.allocations, idOf, 'front') : undefined,
          );
          for (const row of event.allocations) {
            cache.setQueryData(trpc.allocations.get.queryKey({ id: row.id }), row);
          }
          break;
        case 'tasks':
          cache.setQueryData(tasksKey, (old) =>
            old ? mergeRows(old, event.tasks, taskKey, 'front') : undefined,
          );
          break;
        case 'resync':
          // Events were missed: nothing in the cache can be trusted, history included.
          cache.setQueryData(serversKey, event.servers);
          void cache.invalidateQueries({
            predicate: (query) => JSON.stringify(query.queryKey) !== JSON.stringify(serversKey),
          });
          break;
      }
    },
    [cache, trpc],
  );
}
