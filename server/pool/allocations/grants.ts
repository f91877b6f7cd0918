import type { AgentGrant } from '../../../protocol/control/agentMessages';
import { findAllocation, markReady, updateAllocation, type AllocationRecord } from '../../db/allocations';
import { SluiceError } from '../../errors';
import { SYSTEM_ACTOR, type Actor } from '../../db/actor';
import { audit } from '../../db/audit';
import type { PoolContext } from '../context';
import { allocationRow } from '../live/rows';
import { asState, isServable } from '../states';
import type { AllocationRow, Grant } from '../views';
import { requireAllocation, requireOwner } from './access';
import { createSecret } from './secret';
import { committed, transition } from './transition';

/** What the client gets. @throws SERVER_UNREACHABLE when a server is not known any more. */
export function grantOf(ctx: PoolContext, record: AllocationRecord, secret: string): Grant {
  const servers = new Map<string, Grant['servers'][number]>();
  let tls = true;
  for (const held of record.gpus) {
    const server = ctx.live.servers.get(held.gpu.serverId)?.record;
    if (!server) throw new SluiceError('SERVER_UNREACHABLE', 'The server of the allocation is gone.');
    tls &&= server.tls;
    const entry = servers.get(server.id) ?? {
      address: server.dataAddress,
      fingerprint: server.certificateFingerprint,
      gpus: [],
    };
    entry.gpus.push({ uuid: held.gpuUuid, memoryMib: held.memoryMib });
    servers.set(server.id, entry);
  }
  return { version: 1, allocation: record.id, secret, tls, servers: [...servers.values()] };
}

/** What the agent of one server must know. */
export function agentGrantOf(record: AllocationRecord, serverId: string): AgentGrant {
  return {
    allocationId: record.id,
    version: record.version,
    storedKey: record.storedKey,
    gpus: record.gpus
      .filter((held) => held.gpu.serverId === serverId)
      .map((held) => ({ uuid: held.gpuUuid, memoryMib: held.memoryMib })),
  };
}

/** Tells every server of the allocation that is connected; the others learn it when they come back. */
export function sendGrant(ctx: PoolContext, record: AllocationRecord): void {
  for (const serverId of ctx.live.serversOfAllocation(record).keys()) {
    ctx.live.servers.get(serverId)?.link?.send({ type: 'grant', grant: agentGrantOf(record, serverId) });
  }
}

/** A worker has a grant. When all have, the allocation is active and whoever waits is told. */
export async function grantReady(
  ctx: PoolContext,
  serverId: string,
  id: string,
  version: number,
): Promise<void> {
  if (isKnownReady(ctx, serverId, id, version)) return;
  const record = await ctx.db.exclusive(async (queries) => {
    const found = await findAllocation(queries, id);
    // Versions above "granted" that carry the same secret are answered alike.
    if (!found || !isServable(asState(found.state)) || version > found.version) return null;
    const mine = found.gpus.filter((held) => held.gpu.serverId === serverId).map((held) => held.gpuUuid);
    await markReady(queries, id, mine, version);
    const all = found.gpus.every(
      (held) => mine.includes(held.gpuUuid) || (held.readyVersion ?? 0) >= version,
    );
    if (!all || version < found.version || found.state !== 'granted')
      return (await findAllocation(queries, id)) ?? null;
    const active = await transition(ctx, queries, SYSTEM_ACTOR, found, 'active', {});
    // The secret is the same one, so the workers have what this version needs too.
    await markReady(
      queries,
      id,
      active.gpus.map((held) => held.gpuUuid),
      active.version,
    );
    return requireAllocation(queries, id);
  });
  if (!record) return;
  committed(ctx, record);
  const readyVersion = Math.min(...record.gpus.map((held) => held.readyVersion ?? 0));
  ctx.grantWaits.ready(id, readyVersion);
}

/** After a reconnect an agent confirms all its grants; those that were confirmed before need no writing. */
function isKnownReady(ctx: PoolContext, serverId: string, id: string, version: number): boolean {
  const record = ctx.live.allocations.get(id);
  if (record?.state !== 'active') return false;
  const mine = record.gpus.filter((held) => held.gpu.serverId === serverId);
  return mine.every((held) => (held.readyVersion ?? 0) >= version);
}

/**
 * Replaces the secret: the new one is persisted, then the workers take it, then
 * it is told. Programs that run are not disturbed; nobody can start with the old one.
 */
export async function reissueGrant(
  ctx: PoolContext,
  actor: Actor,
  id: string,
): Promise<{ allocation: AllocationRow; grant: Grant }> {
  const { secret, storedKey } = createSecret();
  const record = await ctx.db.exclusive(async (queries) => {
    const found = await requireAllocation(queries, id);
    requireOwner(actor, found);
    if (found.state !== 'active') {
      throw new SluiceError(
        'ALLOCATION_NOT_ACTIVE',
        `The allocation ${id} is ${found.state}; only an active one can be used.`,
      );
    }
    for (const serverId of ctx.live.serversOfAllocation(found).keys()) requireConnected(ctx, serverId);
    const next = await updateAllocation(queries, id, { storedKey, version: found.version + 1 });
    await audit(queries, actor, {
      at: ctx.clock.now(),
      action: 'allocation.secret',
      subject: `allocation:${id}`,
      before: { version: found.version },
      after: { version: next.version },
    });
    return next;
  });
  committed(ctx, record);
  const ready = ctx.grantWaits.wait(id, record.version);
  sendGrant(ctx, record);
  await ready;
  return { allocation: allocationRow(ctx.live, record), grant: grantOf(ctx, record, secret) };
}

function requireConnected(ctx: PoolContext, serverId: string): void {
  const server = ctx.live.servers.get(serverId);
  if (server?.link) return;
  throw new SluiceError(
    'SERVER_UNREACHABLE',
    `The server ${server?.record.hostname ?? serverId} is not connected now.`,
    {
      hint: 'Programs that run on it go on. Try again when `sluice health` shows it.',
    },
  );
}
