import { findAllocation, markProvedFree, type AllocationRecord } from '../../db/allocations';
import type { FreedGpu } from '../../../protocol/control/agentMessages';
import { SYSTEM_ACTOR, type Actor } from '../../db/actor';
import { audit } from '../../db/audit';
import type { PoolContext } from '../context';
import { asEndState, asState, isServable, type EndState } from '../states';
import { requireAllocation } from './access';
import { committed, transition } from './transition';

export interface Ending {
  endState: EndState;
  /** The program's user reads it. */
  reason: string;
  graceMs: number;
}

/**
 * Starts the end of an allocation: persisted first, then the agents are told.
 * Its capacity comes back when they have proved the GPUs free. One that is
 * ending or has ended already stays as it is.
 *
 * @param check runs inside the transaction and may refuse by throwing.
 */
export async function beginRelease(
  ctx: PoolContext,
  actor: Actor,
  id: string,
  ending: Ending,
  check: (record: AllocationRecord) => boolean = () => true,
): Promise<AllocationRecord> {
  const { record, changed } = await ctx.db.exclusive(async (queries) => {
    const found = await requireAllocation(queries, id);
    if (!check(found) || !isServable(asState(found.state))) return { record: found, changed: false };
    return { record: await transition(ctx, queries, actor, found, 'releasing', ending), changed: true };
  });
  if (changed) {
    committed(ctx, record);
    ctx.grantWaits.ended(id, ending.reason);
    sendEnd(ctx, record);
  }
  return record;
}

/** Tells every connected server of a releasing allocation to end it; may be repeated until the proof comes. */
export function sendEnd(ctx: PoolContext, record: AllocationRecord, onlyServer?: string): void {
  const now = ctx.clock.now();
  const ending = ctx.live.endings.get(record.id);
  ctx.live.endings.set(record.id, {
    since: ending?.since ?? now,
    askedAt: now,
    problem: ending?.problem ?? null,
  });
  for (const serverId of ctx.live.serversOfAllocation(record).keys()) {
    if (onlyServer !== undefined && serverId !== onlyServer) continue;
    ctx.live.servers.get(serverId)?.link?.send({
      type: 'end',
      allocationId: record.id,
      version: record.version,
      reason: record.reason ?? '',
      graceMs: record.graceMs,
    });
  }
}

/**
 * An agent says that its GPUs are free of an allocation. Capacity returns only
 * when the evidence says so too.
 *
 * @returns what is missing, or null when the proof is good (or no longer needed).
 */
export async function acceptProof(
  ctx: PoolContext,
  serverId: string,
  proof: { allocationId: string; gpus: FreedGpu[] },
): Promise<string | null> {
  const { record, missing } = await ctx.db.exclusive(async (queries) => {
    const found = await findAllocation(queries, proof.allocationId);
    if (!found || found.state !== 'releasing') return { record: null, missing: null };
    const here = found.gpus.filter((held) => held.gpu.serverId === serverId);
    const wrong = here.flatMap((held) => whatIsMissing(ctx, found, held.gpuUuid, proof.gpus) ?? []);
    if (wrong.length > 0) return { record: null, missing: wrong.join('; ') };

    const now = new Date(ctx.clock.now());
    await markProvedFree(
      queries,
      found.id,
      here.map((held) => held.gpuUuid),
      now,
    );
    const updated = await requireAllocation(queries, found.id);
    if (updated.gpus.some((held) => held.provedFreeAt === null)) return { record: updated, missing: null };
    await audit(queries, SYSTEM_ACTOR, {
      at: now.getTime(),
      action: 'allocation.proof',
      subject: `allocation:${found.id}`,
      after: { server: serverId, gpus: proof.gpus.map((gpu) => ({ ...gpu })) },
    });
    const ended = await transition(ctx, queries, SYSTEM_ACTOR, updated, asEndState(updated.endState), {
      reason: updated.reason,
    });
    return { record: ended, missing: null };
  });
  if (record) {
    forgetOldSamples(ctx, serverId, proof.gpus);
    committed(ctx, record);
  }
  return missing;
}

function whatIsMissing(
  ctx: PoolContext,
  record: AllocationRecord,
  uuid: string,
  gpus: FreedGpu[],
): string | null {
  const gpu = gpus.find((freed) => freed.uuid === uuid);
  // A card that its server no longer reports cannot be proved free and cannot be given out either.
  const present = ctx.live.serverOfGpu(uuid) !== undefined;
  if (!gpu) return present ? `nothing is said about ${uuid}` : null;
  if (gpu.processesLeft > 0) return `${gpu.processesLeft} processes are left on ${uuid}`;
  if (gpu.memoryUsedMibBefore === null || gpu.memoryUsedMibAfter === null) return null;
  const grown = gpu.memoryUsedMibAfter - gpu.memoryUsedMibBefore;
  // Other holders of a shared GPU may have taken more of their own part meanwhile.
  const shared = [...ctx.live.allocations.values()].some(
    (other) =>
      other.id !== record.id && other.gpus.some((held) => held.gpuUuid === uuid && !held.provedFreeAt),
  );
  if (grown <= MEMORY_SLACK_MIB || shared) return null;
  return `${Math.ceil(grown)} MiB of ${uuid} have not come back`;
}

/** What a driver may keep after a first use, such as its own tables. */
const MEMORY_SLACK_MIB = 64;

/** Samples from before the proof still show the ended programs and would count them as strangers. */
function forgetOldSamples(ctx: PoolContext, serverId: string, gpus: FreedGpu[]): void {
  const samples = ctx.live.servers.get(serverId)?.samples;
  for (const { uuid, memoryUsedMibAfter } of gpus) {
    const entry = samples?.get(uuid);
    if (!samples || !entry || memoryUsedMibAfter === null) continue;
    const { sample } = entry;
    const freedMib = Math.max(0, (sample.memoryUsedMib ?? 0) - memoryUsedMibAfter);
    samples.set(uuid, {
      at: entry.at,
      sample: {
        ...sample,
        memoryUsedMib: memoryUsedMibAfter,
        memoryFreeMib: sample.memoryFreeMib === null ? null : sample.memoryFreeMib + freedMib,
      },
    });
  }
}
