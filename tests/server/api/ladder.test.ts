// Who may call what: every procedure × every role. A procedure without a row fails the test.
import { TRPCError } from '@trpc/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { appRouter, createCaller } from '@/server/api/root';
import type { Caller } from '@/server/auth/service';
import { ROLES, roleIncludes, type Role } from '@/server/db/roles';
import { isSluiceError, type ErrorCode } from '@/server/errors';
import { startTestPool, type TestPool } from '../pool/testPool';

let it: TestPool;
beforeAll(async () => {
  it = await startTestPool();
});
afterAll(() => it.stop());

type Api = ReturnType<typeof createCaller>;

/** The least role, and a call with input that is valid, so that only the role decides. */
const table: Record<string, { least: Role; call: (api: Api) => Promise<unknown> }> = {
  'allocations.get': { least: 'viewer', call: (api) => api.allocations.get({ id: 'x' }) },
  'allocations.grant': { least: 'user', call: (api) => api.allocations.grant({ id: 'x' }) },
  'allocations.list': { least: 'viewer', call: (api) => api.allocations.list({ active: true }) },
  'allocations.release': { least: 'user', call: (api) => api.allocations.release({ id: 'x' }) },
  'allocations.renew': { least: 'user', call: (api) => api.allocations.renew({ id: 'x', version: 1 }) },
  'allocations.request': { least: 'user', call: (api) => api.allocations.request({ gpus: 1 }) },
  'allocations.revoke': {
    least: 'operator',
    call: (api) => api.allocations.revoke({ id: 'x', reason: 'r' }),
  },
  'audit.list': { least: 'operator', call: (api) => api.audit.list() },
  'auth.me': { least: 'viewer', call: (api) => api.auth.me() },
  'events.stream': { least: 'viewer', call: (api) => api.events.stream() },
  'health.report': { least: 'viewer', call: (api) => api.health.report() },
  'servers.cordon': { least: 'operator', call: (api) => api.servers.cordon({ id: 'x', cordoned: true }) },
  'servers.get': { least: 'viewer', call: (api) => api.servers.get({ id: 'x' }) },
  'servers.list': { least: 'viewer', call: (api) => api.servers.list() },
  'tasks.list': { least: 'viewer', call: (api) => api.tasks.list() },
  'telemetry.pool': { least: 'viewer', call: (api) => api.telemetry.pool({ seconds: 60 }) },
  'telemetry.recent': { least: 'viewer', call: (api) => api.telemetry.recent({ seconds: 60 }) },
  'tokens.create': { least: 'user', call: (api) => api.tokens.create({ name: 't', kind: 'user' }) },
  'tokens.list': { least: 'user', call: (api) => api.tokens.list() },
  'tokens.revoke': { least: 'user', call: (api) => api.tokens.revoke({ id: 'x' }) },
  'users.create': {
    least: 'admin',
    call: (api) => api.users.create({ email: 'new@example.org', name: 'n', role: 'viewer' }),
  },
  'users.list': { least: 'admin', call: (api) => api.users.list() },
  'users.setRole': { least: 'admin', call: (api) => api.users.setRole({ id: 'x', role: 'viewer' }) },
};

test('every procedure has a row', () => {
  expect(Object.keys(table).sort()).toEqual(Object.keys(appRouter._def.procedures).sort());
});

const apiOf = (role: Role | null): Api => {
  const id = role === null ? null : it.users[role].id;
  const caller: Caller | null =
    role === null || id === null
      ? null
      : { userId: id, email: `${role}@example.org`, name: role, role, via: 'session', tokenId: null };
  const { pool, auth } = it;
  return createCaller({ services: { pool: pool.service, auth, version: 'test' }, caller, address: null });
};

/** The code a call fails with; null when it succeeds. */
const codeOf = async (call: Promise<unknown>): Promise<ErrorCode | null> => {
  try {
    await call;
    return null;
  } catch (error) {
    if (error instanceof TRPCError && isSluiceError(error.cause)) return error.cause.code;
    throw error;
  }
};

describe.each(Object.entries(table))('%s', (_, { least, call }) => {
  test('nobody', async () => {
    expect(await codeOf(call(apiOf(null)))).toBe('SIGN_IN_REQUIRED');
  });

  test.each(ROLES)('%s', async (role) => {
    const code = await codeOf(call(apiOf(role)));
    if (roleIncludes(role, least)) expect(['ROLE_REQUIRED', 'SIGN_IN_REQUIRED']).not.toContain(code);
    else expect(code).toBe('ROLE_REQUIRED');
  });
});

test.each(ROLES.filter((role) => role !== 'admin' && role !== 'viewer'))(
  'a token for agents is not for a %s',
  async (role) => {
    expect(await codeOf(apiOf(role).tokens.create({ name: 'a', kind: 'agent' }))).toBe('ROLE_REQUIRED');
  },
);

test('a user sees and revokes own tokens only, an administrator all', async () => {
  const mine = await apiOf('user').tokens.create({ name: 'mine', kind: 'user' });
  expect((await apiOf('user').tokens.list()).every((token) => token.userEmail === 'user@example.org')).toBe(
    true,
  );
  expect(await codeOf(apiOf('operator').tokens.revoke({ id: mine.row.id }))).toBe('TOKEN_NOT_FOUND');
  expect((await apiOf('admin').tokens.list()).map((token) => token.id)).toContain(mine.row.id);
  expect((await apiOf('admin').tokens.revoke({ id: mine.row.id })).revokedAt).not.toBeNull();
});
