import { addRollups } from '../db/rollups';
import type { AllocationRecord } from '../db/allocations';
import { SYSTEM_ACTOR } from '../db/actor';
import { beginRelease, sendEnd } from './allocations/end';
import { renewAllocation } from './allocations/renew';
import type { PoolContext } from './context';
import { asState, hasLease } from './states';
import { toRow } from './telemetry/rollup';

/** Agents send something every second; after this long without anything, the connection is taken for dead. */
export const SILENCE_MS = 10_000;
/** An agent that did not answer an "end" is asked again after this, on top of the grace time. */
const ASK_AGAIN_MS = 5_000;
const PERIOD_MS = 1_000;

/** Does what time alone causes: leases that run out, agents that fall silent, minutes of telemetry that are over. */
export function startSweeper(ctx: PoolContext): { sweep(): Promise<void>; stop(): void } {
  let stopped = false;
  let cancel: () => void = () => undefined;

  async function sweep(): Promise<void> {
    dropSilentAgents(ctx);
    askAgain(ctx);
    for (const record of [...ctx.live.allocations.values()])
      await guarded(ctx, () => sweepLease(ctx, record));
    await guarded(ctx, () => writeRollups(ctx, ctx.clock.now()));
  }

  function schedule(): void {
    cancel = ctx.clock.after(PERIOD_MS, () => {
      void sweep().then(() => {
        if (!stopped) schedule();
      });
    });
  }

  schedule();
  return {
    sweep,
    stop() {
      stopped = true;
      cancel();
    },
  };
}

/**
 * After a start: leases could not be renewed while the server was down, so
 * none runs out before its holder had time to.
 */
export async function extendLeasesAfterRestart(ctx: PoolContext): Promise<void> {
  const now = ctx.clock.now();
  for (const record of ctx.live.allocations.values()) {
    if (!hasLease(asState(record.state)) || record.leaseExpiresAt === null) continue;
    const least = now + Math.min(record.leaseSeconds * 1000, LONGEST_EXTENSION_MS);
    if (record.leaseExpiresAt.getTime() < least) await renewAllocation(ctx, SYSTEM_ACTOR, record.id, null);
  }
}

const LONGEST_EXTENSION_MS = 60_000;

export async function writeRollups(ctx: PoolContext, now: number): Promise<void> {
  const rows = ctx.recorder.takeFinished(now).map(({ uuid, bucket }) => toRow(uuid, bucket));
  await addRollups(ctx.db.queries, rows);
}

/** Programs that are known to run keep their lease, also while their agent is away: nobody can tell that they ended. */
async function sweepLease(ctx: PoolContext, record: AllocationRecord): Promise<void> {
  if (!hasLease(asState(record.state)) || record.leaseExpiresAt === null) return;
  const left = record.leaseExpiresAt.getTime() - ctx.clock.now();
  const runs = ctx.live.tasksOfAllocation(record.id).length > 0;
  if (runs && left < (record.leaseSeconds * 1000) / 2) {
    await renewAllocation(ctx, SYSTEM_ACTOR, record.id, null);
  } else if (!runs && left <= 0) {
    const now = ctx.clock.now();
    await beginRelease(
      ctx,
      SYSTEM_ACTOR,
      record.id,
      { endState: 'expired', reason: 'Its lease ran out: nobody renewed it.', graceMs: 0 },
      // Renewed between the look and the write: it lives.
      (found) => found.leaseExpiresAt !== null && found.leaseExpiresAt.getTime() <= now,
    );
  }
}

function dropSilentAgents(ctx: PoolContext): void {
  for (const server of ctx.live.servers.values()) {
    if (!server.link || ctx.clock.now() - (server.lastSeenAt ?? 0) < SILENCE_MS) continue;
    server.link.refuse('SERVER_UNREACHABLE', `Nothing was heard for ${SILENCE_MS / 1000} s.`);
  }
}

function askAgain(ctx: PoolContext): void {
  for (const [id, ending] of ctx.live.endings) {
    const record = ctx.live.allocations.get(id);
    if (!record) ctx.live.endings.delete(id);
    else if (ctx.clock.now() - ending.askedAt >= record.graceMs + ASK_AGAIN_MS) sendEnd(ctx, record);
  }
}

/** One thing that fails (the database is away) does not keep the others from happening; the next round tries again. */
async function guarded(ctx: PoolContext, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    ctx.log.error({ error }, 'a periodic task failed');
  }
}
