import { findAllocation, findAllocations } from '../db/allocations';
import { findAudit } from '../db/audit';
import { findTasks } from '../db/tasks';
import { SluiceError } from '../errors';
import { requireOwner } from './allocations/access';
import { beginRelease } from './allocations/end';
import { reissueGrant } from './allocations/grants';
import { renewAllocation } from './allocations/renew';
import { requestAllocation } from './allocations/request';
import type { PoolContext } from './context';
import { cordonServer } from './cordon';
import type { EventBus } from './events/bus';
import { healthReport } from './health';
import { allocationRow, endedTaskRow, liveTaskRow, serverRow, serverRows } from './live/rows';
import { DEFAULT_GRACE_SECONDS } from './requests';
import type { PoolService } from './service';
import { poolTelemetry, recentTelemetry } from './telemetry/query';
import type { AllocationRow, PoolEvent, TaskRow } from './views';

/** The pool's parts behind the one interface that the edges see. */
export function createService(ctx: PoolContext, bus: EventBus): PoolService {
  return {
    health: () => healthReport(ctx),

    listServers: () => serverRows(ctx.live),
    getServer(id) {
      const server = ctx.live.servers.get(id);
      if (!server) throw new SluiceError('SERVER_NOT_FOUND', `There is no server ${id}.`);
      return serverRow(ctx.live, server);
    },
    cordonServer: (actor, id, cordoned) => cordonServer(ctx, actor, id, cordoned),

    listTasks: (filter) => listTasks(ctx, filter),

    listAllocations: (filter) => listAllocations(ctx, filter),
    async getAllocation(id) {
      const record = ctx.live.allocations.get(id) ?? (await findAllocation(ctx.db.queries, id));
      if (!record) throw new SluiceError('ALLOCATION_NOT_FOUND', `There is no allocation ${id}.`);
      return allocationRow(ctx.live, record);
    },
    requestAllocation: (actor, request, signal) => requestAllocation(ctx, actor, request, signal),
    reissueGrant: (actor, id) => reissueGrant(ctx, actor, id),
    renewAllocation: (actor, id, version) => renewAllocation(ctx, actor, id, version),
    async releaseAllocation(actor, id) {
      const ending = { endState: 'released', reason: `Released by ${actor.name}.`, graceMs: 0 } as const;
      const record = await beginRelease(ctx, actor, id, ending, (found) => {
        requireOwner(actor, found);
        return true;
      });
      return allocationRow(ctx.live, record);
    },
    async revokeAllocation(actor, id, reason, graceSeconds = DEFAULT_GRACE_SECONDS) {
      const graceMs = Math.round(graceSeconds * 1000);
      const record = await beginRelease(ctx, actor, id, { endState: 'revoked', reason, graceMs });
      return allocationRow(ctx.live, record);
    },

    recentTelemetry: (query) => recentTelemetry(ctx, query),
    poolTelemetry: (query) => poolTelemetry(ctx, query),

    events: (lastEventId, signal) => bus.listen(lastEventId, () => snapshot(ctx), signal),

    async listAudit({ cursor, limit = 100 }) {
      const rows = await findAudit(ctx.db.queries, cursor ?? null, limit);
      return {
        rows: rows.map((row) => ({ ...row, at: row.at.getTime() })),
        nextCursor: rows.length < limit ? null : (rows.at(-1)?.id ?? null),
      };
    },
  };
}

const DEFAULT_LIMIT = 200;

/** Running ones from memory, ended ones from the database; newest first. */
async function listTasks(
  ctx: PoolContext,
  filter: { allocationId?: string; active?: boolean; limit?: number },
): Promise<TaskRow[]> {
  const running = ctx.live
    .allTasks()
    .filter((task) => filter.allocationId === undefined || task.allocationId === filter.allocationId)
    .map((task) => liveTaskRow(ctx.live, task));
  if (filter.active === true) return running.sort(newestTaskFirst);
  const ended = await findTasks(ctx.db.queries, {
    allocationId: filter.allocationId,
    running: false,
    limit: filter.limit ?? DEFAULT_LIMIT,
  });
  const rows = ended.map((task) => endedTaskRow(ctx.live, task));
  return (filter.active === false ? rows : [...running, ...rows])
    .sort(newestTaskFirst)
    .slice(0, filter.limit ?? DEFAULT_LIMIT);
}

async function listAllocations(
  ctx: PoolContext,
  filter: { active?: boolean; limit?: number },
): Promise<AllocationRow[]> {
  if (filter.active === true) {
    return [...ctx.live.allocations.values()]
      .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? -1 : 1))
      .map((record) => allocationRow(ctx.live, record));
  }
  const states = filter.active === false ? ENDED : undefined;
  const records = await findAllocations(ctx.db.queries, { states, limit: filter.limit ?? DEFAULT_LIMIT });
  return records.map((record) => allocationRow(ctx.live, record));
}

const ENDED = ['released', 'expired', 'revoked', 'failed'];

async function snapshot(ctx: PoolContext): Promise<PoolEvent> {
  return {
    kind: 'resync',
    servers: serverRows(ctx.live),
    allocations: await listAllocations(ctx, { active: true }),
    tasks: await listTasks(ctx, { active: true }),
  };
}

function newestTaskFirst(a: TaskRow, b: TaskRow): number {
  return b.startedAt - a.startedAt || (a.id < b.id ? -1 : 1);
}
