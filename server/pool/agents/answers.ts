import type { AgentToServer } from '../../../protocol/control/agentMessages';
import { SYSTEM_ACTOR } from '../../db/actor';
import { acceptProof, beginRelease } from '../allocations/end';
import type { PoolContext } from '../context';

type Message<Type extends AgentToServer['type']> = Extract<AgentToServer, { type: Type }>;

/**
 * A worker could not take a grant. Whoever waits for it decides; when nobody
 * does (the server restarted meanwhile), an allocation that cannot be served is ended.
 */
export async function receiveGrantFailed(ctx: PoolContext, message: Message<'grantFailed'>): Promise<void> {
  const { allocationId, version, reason } = message;
  if (ctx.grantWaits.failed(allocationId, version, reason)) return;
  if (!ctx.live.allocations.has(allocationId)) return;
  await beginRelease(ctx, SYSTEM_ACTOR, allocationId, {
    endState: 'failed',
    reason: `The GPU server could not prepare it: ${reason}`,
    graceMs: 0,
  });
}

export async function receiveReleased(
  ctx: PoolContext,
  serverId: string,
  message: Message<'released'>,
): Promise<void> {
  const missing = await acceptProof(ctx, serverId, message);
  if (missing !== null) noteProblem(ctx, serverId, message.allocationId, missing);
}

export function receiveReleaseFailed(
  ctx: PoolContext,
  serverId: string,
  message: Message<'releaseFailed'>,
): void {
  noteProblem(ctx, serverId, message.allocationId, message.reason);
}

/** It stays in "releasing": the sweeper asks again, and the health report shows what is in the way. */
function noteProblem(ctx: PoolContext, serverId: string, allocationId: string, problem: string): void {
  ctx.log.warn({ serverId, allocation: allocationId, problem }, 'a GPU has not come back');
  const ending = ctx.live.endings.get(allocationId);
  if (ending) ending.problem = problem;
}
