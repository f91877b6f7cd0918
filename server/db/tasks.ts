import type { Prisma, Task } from './client/client';
import type { Queries } from './database';

export type TaskRecord = Task;

export async function saveTask(queries: Queries, task: Prisma.TaskUncheckedCreateInput): Promise<TaskRecord> {
  const { serverId, id } = task;
  return queries.task.upsert({
    where: { serverId_id: { serverId, id } },
    create: task,
    // It was seen before: it runs on, whatever was thought of it meanwhile.
    update: { endedAt: null, how: null, detail: null, workerPid: task.workerPid },
  });
}

/** @returns null when the task is unknown or had ended before. */
export async function endTask(
  queries: Queries,
  serverId: string,
  id: string,
  end: Prisma.TaskUncheckedUpdateInput,
): Promise<TaskRecord | null> {
  const found = await queries.task.findUnique({ where: { serverId_id: { serverId, id } } });
  if (!found || found.endedAt !== null) return null;
  return queries.task.update({ where: { serverId_id: { serverId, id } }, data: end });
}

export function findTasks(
  queries: Queries,
  filter: { allocationId?: string; serverId?: string; running?: boolean; limit?: number },
): Promise<TaskRecord[]> {
  return queries.task.findMany({
    where: {
      allocationId: filter.allocationId,
      serverId: filter.serverId,
      endedAt: filter.running === undefined ? undefined : filter.running ? null : { not: null },
    },
    orderBy: [{ startedAt: 'desc' }, { id: 'asc' }],
    take: filter.limit,
  });
}
