'use client';

import { useQuery } from '@tanstack/react-query';
import { useTRPC } from '../trpc/context';
import { LIVE_WINDOW_SECONDS } from './windows';

// Every page reads these few queries; the event stream keeps them up to date (see live/useApplyEvent).

export function useServers() {
  return useQuery(useTRPC().servers.list.queryOptions());
}

/** Allocations that hold GPUs or wait for some. */
export function useCurrentAllocations() {
  return useQuery(useTRPC().allocations.list.queryOptions({ active: true }));
}

/** The newest of those that are over. */
export function useEndedAllocations() {
  return useQuery(useTRPC().allocations.list.queryOptions({ active: false }));
}

export function useRunningTasks() {
  return useQuery(useTRPC().tasks.list.queryOptions({ active: true }));
}

/** The newest of those that are over. */
export function useFinishedTasks() {
  return useQuery(useTRPC().tasks.list.queryOptions({ active: false }));
}

/** The last minutes of every GPU, one point a second. */
export function useTelemetry() {
  return useQuery(useTRPC().telemetry.recent.queryOptions({ seconds: LIVE_WINDOW_SECONDS }));
}

export function useMe() {
  return useQuery(useTRPC().auth.me.queryOptions());
}
