import type { SessionRecord } from '../../../protocol/control/agentMessages';
import type { Queries } from '../../db/database';
import { endTask, findTasks, saveTask, type TaskRecord } from '../../db/tasks';
import type { PoolContext } from '../context';
import { endedTaskRow, liveTaskRow } from '../live/rows';

/**
 * Squares the programs an agent says are running with what was known: those of
 * known allocations are adopted, those that ended unseen are closed. Programs of unknown
 * allocations are not taken in; the agent ends them when it hears which allocations exist.
 *
 * @returns what to do once the transaction is committed.
 */
export async function adoptSessions(
  ctx: PoolContext,
  queries: Queries,
  serverId: string,
  sessions: SessionRecord[],
): Promise<{ apply(): void }> {
  const running = sessions.filter((session) => ctx.live.allocations.has(session.allocationId));
  const ids = new Set(running.map((session) => session.id));
  const adopted: TaskRecord[] = [];
  for (const session of running)
    adopted.push(await saveTask(queries, taskFields(serverId, session, ctx.clock.now())));

  const gone: TaskRecord[] = [];
  for (const task of await findTasks(queries, { serverId, running: true })) {
    if (ids.has(task.id)) continue;
    const ended = await endTask(queries, serverId, task.id, {
      endedAt: new Date(ctx.clock.now()),
      how: 'closed',
      detail: 'It ended while the agent was not connected.',
    });
    if (ended) gone.push(ended);
  }
  return {
    apply() {
      for (const task of gone) {
        ctx.live.removeTask(serverId, task.id, ctx.clock.now());
        ctx.announce.task(endedTaskRow(ctx.live, task));
      }
      for (const task of adopted) addLiveTask(ctx, task);
    },
  };
}

export function taskFields(serverId: string, session: SessionRecord, now: number) {
  return {
    serverId,
    id: session.id,
    allocationId: session.allocationId,
    workerPid: session.workerPid,
    command: session.command,
    user: session.user,
    clientHost: session.clientHost,
    clientPid: session.clientPid,
    clientAddress: session.clientAddress,
    // The agent's clock is not trusted: it started when we heard of it.
    startedAt: new Date(now),
  };
}

export function addLiveTask(ctx: PoolContext, record: TaskRecord): void {
  const before = ctx.live.task(record.serverId, record.id);
  const task = {
    id: record.id,
    serverId: record.serverId,
    allocationId: record.allocationId,
    workerPid: record.workerPid,
    command: record.command,
    user: record.user,
    clientHost: record.clientHost,
    clientPid: record.clientPid,
    clientAddress: record.clientAddress,
    startedAt: record.startedAt.getTime(),
    stats: before?.stats ?? null,
  };
  ctx.live.addTask(task);
  ctx.announce.task(liveTaskRow(ctx.live, task));
}
