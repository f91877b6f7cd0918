import { AGENT_PROTOCOL_VERSION, type AgentToServer } from '../../../protocol/control/agentMessages';
import { findServer, saveServer } from '../../db/servers';
import { SluiceError } from '../../errors';
import { agentGrantOf } from '../allocations/grants';
import { sendEnd } from '../allocations/end';
import type { Actor } from '../../db/actor';
import { audit } from '../../db/audit';
import type { PoolContext } from '../context';
import type { AgentLink } from '../live/live';
import { asState, isServable } from '../states';
import { adoptSessions } from './adopt';

/** Who stands behind a connection. */
export interface AgentIdentity {
  tokenId: string;
  tokenName: string;
  address: string | null;
  /** True while a token may still be used; asked when another token comes with a known identity. */
  isTokenValid(tokenId: string): Promise<boolean>;
}

export type Hello = Extract<AgentToServer, { type: 'hello' }>;

/**
 * Takes an agent in: writes what it describes, adopts the programs that run
 * there, and tells it which allocations must exist and which must end.
 *
 * @returns the server's id.
 * @throws AGENT_PROTOCOL_MISMATCH, AGENT_IDENTITY_TAKEN
 */
export async function receiveHello(
  ctx: PoolContext,
  link: AgentLink,
  identity: AgentIdentity,
  hello: Hello,
): Promise<string> {
  refuseOtherProtocol(hello);
  refuseSharedGpus(ctx, hello);
  await refuseStranger(identity, ctx.live.servers.get(hello.agentId)?.record.tokenId ?? null);
  const now = ctx.clock.now();
  const { record, ended } = await ctx.db.exclusive(async (queries) => {
    const known = await findServer(queries, hello.agentId);
    const actor: Actor = {
      kind: 'agent',
      id: hello.agentId,
      name: hello.hostname,
      role: null,
      address: identity.address,
    };
    if (!known) {
      await audit(queries, actor, {
        at: now,
        action: 'server.joined',
        subject: `server:${hello.agentId}`,
        after: {
          hostname: hello.hostname,
          address: hello.dataAddress,
          gpus: hello.gpus.length,
          token: identity.tokenName,
        },
      });
    }
    const saved = await saveServer(queries, serverFields(hello, identity, now), hello.gpus.map(gpuFields));
    return { record: saved, ended: await adoptSessions(ctx, queries, saved.id, hello.sessions) };
  });

  const before = ctx.live.servers.get(record.id);
  before?.link?.refuse('AGENT_IDENTITY_TAKEN', 'A newer connection of this agent has taken over.');
  ctx.live.servers.set(record.id, {
    record,
    link,
    lastSeenAt: now,
    clockSkewMs: Math.round(hello.clockMs - now),
    worker: 'up',
    workerDetail: null,
    samples: new Map(),
  });
  forgetMovedGpus(ctx, record.id);
  ended.apply();
  refreshAllocations(ctx, record.id);
  tellTruth(ctx, link, record.id);
  ctx.log.info(
    { serverId: record.id, hostname: record.hostname, gpus: record.gpus.length },
    'an agent is connected',
  );
  ctx.announce.server(record.id);
  ctx.capacity.changed();
  return record.id;
}

function refuseOtherProtocol(hello: Hello): void {
  if (hello.protocol === AGENT_PROTOCOL_VERSION) return;
  const older = hello.protocol < AGENT_PROTOCOL_VERSION ? 'the agent' : 'the control plane';
  throw new SluiceError(
    'AGENT_PROTOCOL_MISMATCH',
    `The agent speaks protocol ${hello.protocol}, the control plane ${AGENT_PROTOCOL_VERSION}: update ${older}.`,
  );
}

/** One GPU in two connected servers is a copied machine or folder; granting it twice would overbook it. */
function refuseSharedGpus(ctx: PoolContext, hello: Hello): void {
  for (const { uuid } of hello.gpus) {
    const owner = ctx.live.serverOfGpu(uuid);
    if (!owner?.link || owner.record.id === hello.agentId) continue;
    throw new SluiceError(
      'AGENT_IDENTITY_TAKEN',
      `The GPU ${uuid} is already in the pool through ${owner.record.hostname} (${owner.record.dataAddress}).`,
    );
  }
}

/** An identity belongs to the token it joined with, until that token is no longer good. */
async function refuseStranger(identity: AgentIdentity, knownTokenId: string | null): Promise<void> {
  if (knownTokenId === null || knownTokenId === identity.tokenId) return;
  if (!(await identity.isTokenValid(knownTokenId))) return;
  throw new SluiceError(
    'AGENT_IDENTITY_TAKEN',
    'This agent joined with another token, which is still valid.',
    {
      hint: 'Use that token, or revoke it.',
    },
  );
}

function serverFields(hello: Hello, identity: AgentIdentity, now: number) {
  return {
    id: hello.agentId,
    hostname: hello.hostname,
    dataAddress: hello.dataAddress,
    certificateFingerprint: hello.certificateFingerprint,
    tls: hello.tls,
    driverVersion: hello.driverVersion,
    cudaVersion: hello.cudaVersion,
    agentVersion: hello.agentVersion,
    machineId: hello.machineId,
    tokenId: identity.tokenId,
    lastSeenAt: new Date(now),
  };
}

function gpuFields(gpu: Hello['gpus'][number]) {
  const { uuid, index, name, memoryTotalMib, computeCapability, pciBusId, software } = gpu;
  return { uuid, index, name, memoryTotalMib, computeCapability, pciBusId, software };
}

/** A card that is here now is no longer in the server that had it before. */
function forgetMovedGpus(ctx: PoolContext, serverId: string): void {
  const here = new Set(ctx.live.servers.get(serverId)?.record.gpus.map((gpu) => gpu.uuid));
  for (const other of ctx.live.servers.values()) {
    if (other.record.id === serverId || !other.record.gpus.some((gpu) => here.has(gpu.uuid))) continue;
    other.record = { ...other.record, gpus: other.record.gpus.filter((gpu) => !here.has(gpu.uuid)) };
    ctx.announce.server(other.record.id);
  }
}

/** GPUs may have come from another server: allocations must know where their GPUs are now. */
function refreshAllocations(ctx: PoolContext, serverId: string): void {
  const here = new Map(ctx.live.servers.get(serverId)?.record.gpus.map((gpu) => [gpu.uuid, gpu]));
  for (const allocation of ctx.live.allocations.values()) {
    const moved = allocation.gpus.some((held) => here.has(held.gpuUuid) && held.gpu.serverId !== serverId);
    if (!moved) continue;
    ctx.live.allocations.set(allocation.id, {
      ...allocation,
      gpus: allocation.gpus.map((held) => ({ ...held, gpu: here.get(held.gpuUuid) ?? held.gpu })),
    });
  }
}

/** Without a pause in between: what is granted from now on is sent by whoever grants it. */
function tellTruth(ctx: PoolContext, link: AgentLink, serverId: string): void {
  const allocations = ctx.live.allocationsOfServer(serverId);
  link.send({ type: 'welcome', serverVersion: ctx.serverVersion, heartbeatSeconds: 1 });
  link.send({
    type: 'grants',
    grants: allocations
      .filter((allocation) => isServable(asState(allocation.state)))
      .map((allocation) => agentGrantOf(allocation, serverId)),
  });
  for (const allocation of allocations) {
    if (allocation.state === 'releasing') sendEnd(ctx, allocation, serverId);
  }
}
