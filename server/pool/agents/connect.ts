import { agentToServer, type AgentToServer } from '../../../protocol/control/agentMessages';
import { setLastSeen } from '../../db/servers';
import { isSluiceError, SluiceError } from '../../errors';
import type { PoolContext } from '../context';
import type { AgentLink } from '../live/live';
import { receiveGrantFailed, receiveReleased, receiveReleaseFailed } from './answers';
import { receiveHello, type AgentIdentity } from './hello';
import { grantReady } from '../allocations/grants';
import { receiveHealth, receiveTelemetry } from './telemetry';
import { receiveSessionEnded, receiveSessionStarted } from './sessions';

/** One agent's connection, from the outside: text comes in, and at some time it is closed. */
export interface AgentConnection {
  /** Messages are handled one after the other, in the order they came. */
  receive(text: string): void;
  closed(): void;
  /** Resolves when all that was received so far is handled. */
  idle(): Promise<void>;
}

export function connectAgent(ctx: PoolContext, link: AgentLink, identity: AgentIdentity): AgentConnection {
  let serverId: string | null = null;
  let over = false;
  let last: Promise<void> = Promise.resolve();

  async function handle(text: string): Promise<void> {
    if (over) return;
    try {
      const message = parse(text);
      if (serverId === null) {
        if (message.type !== 'hello')
          throw new SluiceError('AGENT_MESSAGE_INVALID', 'The first message must be "hello".');
        serverId = await receiveHello(ctx, link, identity, message);
      } else {
        await dispatch(ctx, serverId, link, message);
      }
    } catch (error) {
      over = true;
      refuse(ctx, link, serverId, error);
    }
  }

  return {
    receive(text) {
      last = last.then(() => handle(text));
    },
    closed() {
      over = true;
      last = last.then(() => disconnected(ctx, serverId, link));
    },
    idle: () => last,
  };
}

async function dispatch(
  ctx: PoolContext,
  serverId: string,
  link: AgentLink,
  message: AgentToServer,
): Promise<void> {
  const server = ctx.live.servers.get(serverId);
  // A newer connection of the same agent has taken over.
  if (server?.link !== link) return;
  server.lastSeenAt = ctx.clock.now();
  switch (message.type) {
    case 'hello':
      throw new SluiceError('AGENT_MESSAGE_INVALID', 'A second "hello" on one connection.');
    case 'telemetry':
      return receiveTelemetry(ctx, server, message);
    case 'grantReady':
      return grantReady(ctx, serverId, message.allocationId, message.version);
    case 'grantFailed':
      return receiveGrantFailed(ctx, message);
    case 'sessionStarted':
      return receiveSessionStarted(ctx, server, message.session);
    case 'sessionEnded':
      return receiveSessionEnded(ctx, serverId, message);
    case 'released':
      return receiveReleased(ctx, serverId, message);
    case 'releaseFailed':
      return receiveReleaseFailed(ctx, serverId, message);
    case 'health':
      return receiveHealth(ctx, server, message);
  }
}

/** @throws AGENT_MESSAGE_INVALID with the path of the first wrong field. */
function parse(text: string): AgentToServer {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new SluiceError('AGENT_MESSAGE_INVALID', 'The message is not JSON.');
  }
  const parsed = agentToServer.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new SluiceError(
    'AGENT_MESSAGE_INVALID',
    `${issue?.path.join('.') || 'message'}: ${issue?.message ?? 'not valid'}`,
  );
}

function refuse(ctx: PoolContext, link: AgentLink, serverId: string | null, error: unknown): void {
  if (isSluiceError(error)) {
    ctx.log.warn({ serverId, code: error.code, reason: error.message }, 'an agent was refused');
    link.refuse(error.code, error.message);
  } else {
    // The agent comes back and tells the whole truth again.
    ctx.log.error({ serverId, error }, 'a message of an agent could not be handled');
    link.refuse('INTERNAL', 'The control plane could not handle a message; connect again.');
  }
}

/** Everything of that server stays as last known; programs run on without us. */
async function disconnected(ctx: PoolContext, serverId: string | null, link: AgentLink): Promise<void> {
  const server = serverId === null ? undefined : ctx.live.servers.get(serverId);
  if (!server || server.link !== link) return;
  server.link = null;
  server.samples.clear();
  ctx.log.warn({ serverId, hostname: server.record.hostname }, 'an agent is gone');
  ctx.announce.server(server.record.id);
  try {
    await setLastSeen(ctx.db.queries, server.record.id, new Date(server.lastSeenAt ?? ctx.clock.now()));
  } catch (error) {
    ctx.log.warn({ serverId, error }, 'the time a server was last seen could not be written');
  }
}
