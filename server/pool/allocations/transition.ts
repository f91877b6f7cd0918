import { updateAllocation, type AllocationRecord } from '../../db/allocations';
import type { Prisma } from '../../db/client/client';
import type { Queries } from '../../db/database';
import type { Actor } from '../../db/actor';
import { audit } from '../../db/audit';
import type { PoolContext } from '../context';
import { asState, canTransition, isEnded } from '../states';
import type { AllocationState } from '../views';

/**
 * Moves an allocation to another state inside a transaction: a new version,
 * persisted and audited. Call `committed` with the result afterwards; only then act on it.
 */
export async function transition(
  ctx: PoolContext,
  queries: Queries,
  actor: Actor,
  record: AllocationRecord,
  to: AllocationState,
  change: Omit<Prisma.AllocationUncheckedUpdateInput, 'state' | 'version' | 'gpus'> & {
    reason?: string | null;
  },
): Promise<AllocationRecord> {
  const from = asState(record.state);
  if (!canTransition(from, to)) throw new Error(`allocation ${record.id} cannot go from ${from} to ${to}`);
  const now = ctx.clock.now();
  const next = await updateAllocation(queries, record.id, {
    ...change,
    state: to,
    version: record.version + 1,
    ...(to === 'active' ? { activeAt: new Date(now) } : {}),
    ...(to === 'releasing' ? { endingAt: new Date(now) } : {}),
    ...(isEnded(to) ? { endedAt: new Date(now) } : {}),
  });
  await audit(queries, actor, {
    at: now,
    action: `allocation.${to}`,
    subject: `allocation:${record.id}`,
    before: { state: from, version: record.version },
    after: { state: to, version: next.version },
    reason: change.reason ?? null,
  });
  return next;
}

/** Brings a committed change into the live view and tells listeners. */
export function committed(ctx: PoolContext, record: AllocationRecord): AllocationRecord {
  if (isEnded(asState(record.state))) {
    ctx.live.allocations.delete(record.id);
    ctx.live.endings.delete(record.id);
    ctx.capacity.changed();
  } else {
    ctx.live.allocations.set(record.id, record);
  }
  ctx.announce.allocation(record);
  return record;
}
