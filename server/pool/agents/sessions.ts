import type { AgentToServer, SessionRecord } from '../../../protocol/control/agentMessages';
import { endTask, saveTask } from '../../db/tasks';
import { grantReady } from '../allocations/grants';
import type { PoolContext } from '../context';
import type { LiveServer } from '../live/live';
import { endedTaskRow } from '../live/rows';
import { addLiveTask, taskFields } from './adopt';

export async function receiveSessionStarted(
  ctx: PoolContext,
  server: LiveServer,
  session: SessionRecord,
): Promise<void> {
  const serverId = server.record.id;
  const allocation = ctx.live.allocations.get(session.allocationId);
  if (!allocation) {
    ctx.log.warn(
      { serverId, allocation: session.allocationId },
      'a program runs under an allocation that does not exist',
    );
    const reason = 'The allocation does not exist any more.';
    server.link?.send({ type: 'end', allocationId: session.allocationId, version: 0, reason, graceMs: 0 });
    return;
  }
  // A program got in, so the worker has the grant, whatever became of its answer.
  if (allocation.state === 'granted') await grantReady(ctx, serverId, allocation.id, allocation.version);
  addLiveTask(ctx, await saveTask(ctx.db.queries, taskFields(serverId, session, ctx.clock.now())));
}

export async function receiveSessionEnded(
  ctx: PoolContext,
  serverId: string,
  message: Extract<AgentToServer, { type: 'sessionEnded' }>,
): Promise<void> {
  const live = ctx.live.removeTask(serverId, message.id, ctx.clock.now());
  const stats = live?.stats;
  const ended = await endTask(ctx.db.queries, serverId, message.id, {
    endedAt: new Date(ctx.clock.now()),
    how: message.how,
    detail: message.detail,
    peakBytes: message.peakBytes ?? stats?.peakBytes ?? 0,
    calls: message.calls ?? stats?.calls ?? 0,
    launches: message.launches ?? stats?.launches ?? 0,
    roundTrips: message.roundTrips ?? stats?.roundTrips ?? 0,
    bytesIn: message.bytesIn ?? stats?.bytesIn ?? 0,
    bytesOut: message.bytesOut ?? stats?.bytesOut ?? 0,
  });
  if (ended) ctx.announce.task(endedTaskRow(ctx.live, ended));
}
