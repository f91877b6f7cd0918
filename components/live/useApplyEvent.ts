'use client';

import { hashKey, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { LIVE_WINDOW_SECONDS } from '../data/windows';
import { taskKey } from '../tasks/taskKey';
import { useTRPC } from '../trpc/context';
import type { AllocationRow, LiveEvent, TaskRow } from '../trpc/types';
import { dropRows, mergeRows } from './mergeRows';
import { appendSamples, updateGpuReadings } from './mergeTelemetry';

const KEEP_MS = LIVE_WINDOW_SECONDS * 1000;
const idOf = (row: { id: string }) => row.id;
const hasEnded = (row: { endedAt: number | null }) => row.endedAt !== null;

/**
 * Returns the function that puts what the server pushes into the cache that all pages read. Current and ended
 * rows are separate lists, as in the API: what ends moves from one to the other.
 */
export function useApplyEvent(): (event: LiveEvent) => void {
  const trpc = useTRPC();
  const cache = useQueryClient();

  return useCallback(
    (event: LiveEvent) => {
      const serversKey = trpc.servers.list.queryKey();
      const telemetryKey = trpc.telemetry.recent.queryKey({ seconds: LIVE_WINDOW_SECONDS });
      const allocationsKey = (active: boolean) => trpc.allocations.list.queryKey({ active });
      const tasksKey = (input: { active: boolean; allocationId?: string }) => trpc.tasks.list.queryKey(input);

      const applyAllocations = (changed: readonly AllocationRow[]) => {
        const ended = changed.filter(hasEnded);
        const current = changed.filter((row) => !hasEnded(row));
        cache.setQueryData(
          allocationsKey(true),
          (old) => old && dropRows(mergeRows(old, current, idOf, 'front'), ended, idOf),
        );
        cache.setQueryData(allocationsKey(false), (old) => old && mergeRows(old, ended, idOf, 'front'));
        for (const row of changed) {
          cache.setQueryData(trpc.allocations.get.queryKey({ id: row.id }), (old) => old && row);
        }
      };

      const applyTasks = (changed: readonly TaskRow[]) => {
        const ended = changed.filter(hasEnded);
        const running = changed.filter((row) => !hasEnded(row));
        cache.setQueryData(
          tasksKey({ active: true }),
          (old) => old && dropRows(mergeRows(old, running, taskKey, 'front'), ended, taskKey),
        );
        cache.setQueryData(
          tasksKey({ active: false }),
          (old) => old && mergeRows(old, ended, taskKey, 'front'),
        );
        for (const row of ended) {
          cache.setQueryData(
            tasksKey({ active: false, allocationId: row.allocationId }),
            (old) => old && mergeRows(old, [row], taskKey, 'front'),
          );
        }
      };

      switch (event.kind) {
        case 'telemetry':
          cache.setQueryData(
            telemetryKey,
            (old) => old && { ...old, series: appendSamples(old.series, event.series, KEEP_MS) },
          );
          cache.setQueryData(serversKey, (old) => old && updateGpuReadings(old, event.series));
          break;
        case 'servers':
          cache.setQueryData(serversKey, (old) => old && mergeRows(old, event.servers, idOf, 'end'));
          break;
        case 'allocations':
          applyAllocations(event.allocations);
          break;
        case 'tasks':
          applyTasks(event.tasks);
          break;
        case 'resync': {
          // Events were missed. What is current is in this one; all else is fetched anew by whoever shows it.
          cache.setQueryData(serversKey, event.servers);
          cache.setQueryData(allocationsKey(true), event.allocations);
          cache.setQueryData(tasksKey({ active: true }), event.tasks);
          const current = [serversKey, allocationsKey(true), tasksKey({ active: true })].map((key) =>
            hashKey(key),
          );
          void cache.invalidateQueries({ predicate: (query) => !current.includes(query.queryHash) });
          break;
        }
      }
    },
    [cache, trpc],
  );
}
