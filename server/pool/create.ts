import { randomBytes } from 'node:crypto';
import { findAllocations } from '../db/allocations';
import type { Database } from '../db/database';
import { findServers } from '../db/servers';
import { findTasks } from '../db/tasks';
import { createLog, type Logger } from '../log';
import { connectAgent, type AgentConnection } from './agents/connect';
import type { AgentIdentity } from './agents/hello';
import { createGrantWaits } from './allocations/grantWaits';
import { createCapacitySignal } from './capacity';
import { systemClock, type Clock } from './clock';
import type { PoolContext } from './context';
import { createAnnouncer } from './events/announce';
import { createEventBus } from './events/bus';
import { LivePool, type AgentLink } from './live/live';
import type { PoolService } from './service';
import { createService } from './serviceOf';
import { LIVE_STATES } from './states';
import { extendLeasesAfterRestart, startSweeper, writeRollups } from './sweeper';
import { createRecorder } from './telemetry/recorder';

/** The pool, running. */
export interface Pool {
  service: PoolService;
  connectAgent(link: AgentLink, identity: AgentIdentity): AgentConnection;
  /** One round of what time causes, for tests that turn the clock themselves. */
  sweep(): Promise<void>;
  /** For metrics. */
  live: LivePool;
  listenerCount(): number;
  stop(): Promise<void>;
}

/** Loads what is durable, then starts the clockwork. The truth about running programs comes with the agents. */
export async function createPool(options: {
  db: Database;
  serverVersion: string;
  clock?: Clock;
  log?: Logger;
}): Promise<Pool> {
  const clock = options.clock ?? systemClock;
  const live = new LivePool();
  const bus = createEventBus(randomBytes(6).toString('hex'));
  const ctx: PoolContext = {
    db: options.db,
    clock,
    log: options.log ?? createLog('pool'),
    live,
    announce: createAnnouncer(bus, live, clock),
    recorder: createRecorder(),
    grantWaits: createGrantWaits(clock),
    capacity: createCapacitySignal(clock),
    serverVersion: options.serverVersion,
  };
  await load(ctx);
  await extendLeasesAfterRestart(ctx);
  const sweeper = startSweeper(ctx);

  return {
    service: createService(ctx, bus),
    connectAgent: (link, identity) => connectAgent(ctx, link, identity),
    sweep: sweeper.sweep,
    live,
    listenerCount: () => bus.listenerCount,
    async stop() {
      sweeper.stop();
      ctx.announce.stop();
      await writeRollups(ctx, Infinity);
    },
  };
}

async function load(ctx: PoolContext): Promise<void> {
  const { live } = ctx;
  const now = ctx.clock.now();
  for (const record of await findServers(ctx.db.queries)) {
    live.servers.set(record.id, {
      record,
      link: null,
      lastSeenAt: record.lastSeenAt?.getTime() ?? null,
      clockSkewMs: null,
      worker: 'up',
      workerDetail: null,
      samples: new Map(),
    });
  }
  for (const record of await findAllocations(ctx.db.queries, { states: LIVE_STATES })) {
    live.allocations.set(record.id, record);
    if (record.state === 'releasing')
      live.endings.set(record.id, { since: now, askedAt: now, problem: null });
  }
  // They ran when the server stopped; until their agent says otherwise they still do.
  for (const task of await findTasks(ctx.db.queries, { running: true })) {
    live.addTask({ ...task, startedAt: task.startedAt.getTime(), stats: null });
  }
}
