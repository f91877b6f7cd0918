import { heldByGpu, insertAllocation, type AllocationRecord } from '../../db/allocations';
import { isSluiceError, SluiceError } from '../../errors';
import type { Actor } from '../../db/actor';
import { audit } from '../../db/audit';
import type { PoolContext } from '../context';
import { allocationRow } from '../live/rows';
import { DEFAULT_LEASE_SECONDS, type AllocationRequest } from '../requests';
import type { AllocationRow, Grant } from '../views';
import { findCandidates } from './candidates';
import { beginRelease } from './end';
import { grantOf, sendGrant } from './grants';
import { place } from './place';
import { createAllocationId, createSecret } from './secret';
import { committed, transition } from './transition';

/**
 * Takes capacity for a request and waits until the workers know the grant.
 * Whatever goes wrong after the capacity was taken gives it back.
 */
export async function requestAllocation(
  ctx: PoolContext,
  actor: Actor,
  request: AllocationRequest,
  signal?: AbortSignal,
): Promise<{ allocation: AllocationRow; grant: Grant }> {
  const { secret, storedKey } = createSecret();
  const granted = await takeWhenPossible(ctx, actor, request, storedKey, signal);
  const ready = ctx.grantWaits.wait(granted.id, granted.version, signal);
  sendGrant(ctx, granted);
  try {
    await ready;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const aborted = isSluiceError(error) && error.code === 'REQUEST_ABORTED';
    await beginRelease(ctx, actor, granted.id, {
      endState: aborted ? 'released' : 'failed',
      reason,
      graceMs: 0,
    });
    throw error;
  }
  const active = ctx.live.allocations.get(granted.id);
  if (!active)
    throw new SluiceError('ALLOCATION_NOT_ACTIVE', 'The allocation has ended before it could be used.');
  return { allocation: allocationRow(ctx.live, active), grant: grantOf(ctx, active, secret) };
}

/** Tries at once, then whenever capacity came back, until the request's waiting time is over. */
async function takeWhenPossible(
  ctx: PoolContext,
  actor: Actor,
  request: AllocationRequest,
  storedKey: string,
  signal: AbortSignal | undefined,
): Promise<AllocationRecord> {
  const deadline = ctx.clock.now() + (request.waitSeconds ?? 0) * 1000;
  for (;;) {
    if (signal?.aborted) throw new SluiceError('REQUEST_ABORTED', 'The request was given up.');
    try {
      return await take(ctx, actor, request, storedKey);
    } catch (error) {
      const left = deadline - ctx.clock.now();
      if (!isSluiceError(error) || !WORTH_WAITING.has(error.code) || left <= 0) throw error;
      await ctx.capacity.wait(left, signal);
    }
  }
}

const WORTH_WAITING = new Set(['GPU_BUSY', 'NO_SERVERS']);

/** Placement and writing are one transaction that nothing overlaps. */
async function take(
  ctx: PoolContext,
  actor: Actor,
  request: AllocationRequest,
  storedKey: string,
): Promise<AllocationRecord> {
  const record = await ctx.db.exclusive(async (queries) => {
    const placements = place(findCandidates(ctx.live, await heldByGpu(queries)), request);
    const now = ctx.clock.now();
    const leaseSeconds = request.leaseSeconds ?? DEFAULT_LEASE_SECONDS;
    const queued = await insertAllocation(
      queries,
      {
        id: createAllocationId(),
        state: 'queued',
        version: 1,
        userId: actor.id,
        userEmail: actor.name,
        purpose: request.purpose ?? null,
        storedKey,
        leaseSeconds,
        createdAt: new Date(now),
      },
      placements.map(({ candidate, memoryMib }) => ({ gpuUuid: candidate.gpu.uuid, memoryMib })),
    );
    await audit(queries, actor, {
      at: now,
      action: 'allocation.queued',
      subject: `allocation:${queued.id}`,
      after: {
        purpose: queued.purpose,
        leaseSeconds,
        gpus: queued.gpus.map((held) => ({ uuid: held.gpuUuid, memoryMib: held.memoryMib })),
      },
    });
    return transition(ctx, queries, actor, queued, 'granted', {
      leaseExpiresAt: new Date(now + leaseSeconds * 1000),
    });
  });
  return committed(ctx, record);
}
