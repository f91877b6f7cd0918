import type { TaskRow } from '../trpc/types';

/** Identifies a task in the whole pool: workers number their sessions each for themselves. */
export function taskKey(task: TaskRow): string {
  return `${task.serverId}/${task.id}`;
}
