import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import { createMetrics } from '@/server/http/metrics';
import { createAgentEndpoint } from '@/server/http/agents';
import { listen } from '@/server/http/listen';
import { noPages } from '@/server/http/pages';
import { createRoutes } from '@/server/http/routes';
import { createAuth } from '@/server/auth/create';
import type { AuthService } from '@/server/auth/service';
import type { Database } from '@/server/db/database';
import { openDatabase } from '@/server/db/open';
import type { Role } from '@/server/db/roles';
import type { Actor } from '@/server/db/actor';
import { SYSTEM_ACTOR } from '@/server/db/actor';
import { createPool, type Pool } from '@/server/pool/create';
import { createManualClock, type ManualClock } from './manualClock';
import { ScriptedAgent, type AgentOptions } from './scriptedAgent';

/** The control plane in this process: a real store, real HTTP and WebSocket, a clock that the test turns. */
export interface TestPool {
  pool: Pool;
  db: Database;
  auth: AuthService;
  clock: ManualClock;
  url: string;
  users: Record<Role, Actor>;
  /** API tokens of one user per role. */
  tokens: Record<Role, string>;
  agentToken: string;
  agent(options?: Partial<AgentOptions>): Promise<ScriptedAgent>;
  /** Forgets everything in memory and starts again from the store after a while, as after a crash. */
  restart(awayMs?: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startTestPool(): Promise<TestPool> {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'sluice-test-'));
  const clock = createManualClock();
  const db = await openDatabase({
    root: process.cwd(),
    dataDir,
    databaseUrl: process.env.SLUICE_TEST_DATABASE_URL ?? null,
  });
  const auth = createAuth({ db, secret: 's'.repeat(32), baseUrl: 'http://127.0.0.1', now: clock.now });
  const { users, tokens } = await makeUsers(auth);
  const input = { name: 'agents', kind: 'agent', userId: users.admin.id ?? '' } as const;
  const { token: agentToken } = await auth.createToken(SYSTEM_ACTOR, input);
  const agents: ScriptedAgent[] = [];
  let serving = await serve(db, auth, clock);

  return {
    get pool() {
      return serving.pool;
    },
    get url() {
      return serving.url;
    },
    db,
    auth,
    clock,
    users,
    tokens,
    agentToken,
    async agent(options = {}) {
      const agent = await ScriptedAgent.connect({ url: serving.url, token: agentToken, ...options });
      agents.push(agent);
      return agent;
    },
    async restart(awayMs = 0) {
      await serving.stop();
      clock.advance(awayMs);
      serving = await serve(db, auth, clock);
    },
    async stop() {
      await serving.stop();
      await db.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function serve(db: Database, auth: AuthService, clock: ManualClock) {
  const log = pino({ level: 'silent' });
  const pool = await createPool({ db, clock, log, serverVersion: 'test' });
  const listener = await listen('127.0.0.1', 0);
  const endpoint = createAgentEndpoint(pool, auth, log);
  const routes = createRoutes({
    services: { pool: pool.service, auth, version: 'test' },
    metrics: createMetrics(pool),
    pages: noPages,
    publicUrl: null,
    isReady: () => Promise.resolve(true),
    log,
  });
  listener.serve(routes, endpoint.upgrade);
  return {
    pool,
    url: listener.url,
    async stop() {
      await endpoint.close();
      await pool.stop();
      await listener.close();
    },
  };
}

async function makeUsers(auth: AuthService) {
  const made = async (role: Role): Promise<{ actor: Actor; token: string }> => {
    const email = `${role}@example.org`;
    const { user } = await auth.createUser(SYSTEM_ACTOR, {
      email,
      name: role,
      role,
      password: 'a good password',
    });
    const { token } = await auth.createToken(SYSTEM_ACTOR, { name: role, kind: 'user', userId: user.id });
    return { actor: { kind: 'user', id: user.id, name: email, role, address: null }, token };
  };
  const viewer = await made('viewer');
  const user = await made('user');
  const operator = await made('operator');
  const admin = await made('admin');
  return {
    users: { viewer: viewer.actor, user: user.actor, operator: operator.actor, admin: admin.actor },
    tokens: { viewer: viewer.token, user: user.token, operator: operator.token, admin: admin.token },
  };
}
