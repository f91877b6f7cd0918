// The life of an allocation against a real store and a scripted agent over a real WebSocket.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AllocationRow, AllocationState } from '@/server/pool/views';
import { eventually } from './eventually';
import type { ScriptedAgent } from './scriptedAgent';
import { startTestPool, type TestPool } from './testPool';

let it: TestPool;
beforeAll(async () => {
  it = await startTestPool();
});
afterAll(() => it.stop());

const request = (agent: ScriptedAgent, more: Record<string, unknown> = {}) =>
  it.pool.service.requestAllocation(it.users.user, {
    gpus: 1,
    filters: agent.gpus.map(({ uuid }) => ({ key: 'device.uuid', value: uuid })),
    ...more,
  });

const reached = (id: string, state: AllocationState): Promise<AllocationRow> =>
  eventually(
    () => it.pool.service.getAllocation(id),
    (row) => row.state === state,
  );

const actions = async (id: string): Promise<string[]> => {
  const { rows } = await it.pool.service.listAudit({ limit: 500 });
  return rows
    .filter((row) => row.subject === `allocation:${id}`)
    .map((row) => row.action)
    .reverse();
};

test('granted, active, released: each step persisted, audited and with a version', async () => {
  const agent = await it.agent();
  const { allocation, grant } = await request(agent, { memoryMib: 2048, purpose: 'a test' });
  expect(allocation).toMatchObject({
    state: 'active',
    version: 3,
    purpose: 'a test',
    userEmail: 'user@example.org',
  });
  expect(grant).toMatchObject({
    version: 1,
    allocation: allocation.id,
    tls: true,
    servers: [{ address: '127.0.0.1:56001', gpus: [{ uuid: agent.gpus[0]?.uuid, memoryMib: 2048 }] }],
  });
  const held = agent.held.get(allocation.id);
  expect(held?.storedKey).toBe(createHash('sha256').update(Buffer.from(grant.secret, 'hex')).digest('hex'));

  await it.pool.service.releaseAllocation(it.users.user, allocation.id);
  expect(await reached(allocation.id, 'released')).toMatchObject({ version: 5, sessions: 0 });
  expect(await actions(allocation.id)).toEqual([
    'allocation.queued',
    'allocation.granted',
    'allocation.active',
    'allocation.releasing',
    'allocation.proof',
    'allocation.released',
  ]);
});

test('the secret is nowhere in the store', async () => {
  const agent = await it.agent();
  const { grant } = await request(agent);
  const rows = await it.db.queries.$queryRaw<{ text: string }[]>`
    SELECT a::text AS text FROM allocation a UNION ALL SELECT e::text FROM audit_event e`;
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.filter((row) => row.text.includes(grant.secret))).toEqual([]);
});

describe('capacity comes back only with proof', () => {
  const released = async (agent: ScriptedAgent) => {
    const { allocation } = await request(agent, { memoryMib: 8192 });
    await it.pool.service.revokeAllocation(it.users.operator, allocation.id, 'maintenance', 2);
    const end = await agent.next('end');
    return { id: allocation.id, end };
  };
  const half = async () => {
    const agent = await it.agent({ obliging: false });
    const pending = request(agent, { memoryMib: 8192 });
    const { grant } = await agent.next('grant');
    agent.send({ type: 'grantReady', allocationId: grant.allocationId, version: grant.version });
    const { allocation } = await pending;
    await it.pool.service.revokeAllocation(it.users.operator, allocation.id, 'maintenance', 2);
    return { agent, id: allocation.id, end: await agent.next('end') };
  };

  test('the agent is told the reason and the grace', async () => {
    const agent = await it.agent();
    const { id, end } = await released(agent);
    expect(end).toMatchObject({ allocationId: id, reason: 'maintenance', graceMs: 2000 });
    expect(await reached(id, 'revoked')).toMatchObject({ reason: 'maintenance' });
  });

  test.each([
    ['a process is left', { processesLeft: 1 }],
    ['memory has not come back', { after: 512 }],
  ])('not when %s', async (_, gpu) => {
    const { agent, id, end } = await half();
    agent.prove(id, end.version, gpu);
    await expect(request(agent, { memoryMib: 1 })).rejects.toMatchObject({ code: 'GPU_BUSY' });
    expect((await it.pool.service.getAllocation(id)).state).toBe('releasing');
    // It is asked again, and a good proof ends it.
    const before = agent.received.length;
    it.clock.advance(8_000);
    await it.pool.sweep();
    await agent.next('end', before);
    agent.prove(id, end.version);
    await reached(id, 'revoked');
  });

  test('not when the agent is gone, until it is back', async () => {
    const { agent, id, end } = await half();
    await agent.disconnect();
    await eventually(
      () => it.pool.service.getServer(agent.id),
      (row) => row.state === 'unreachable',
    );
    expect((await it.pool.service.getAllocation(id)).state).toBe('releasing');
    const before = agent.received.length;
    await agent.connect();
    expect(await agent.next('end', before)).toMatchObject({ allocationId: id, version: end.version });
    agent.prove(id, end.version);
    await reached(id, 'revoked');
  });

  test('a health finding names what does not come back', async () => {
    const { agent, id, end } = await half();
    agent.send({ type: 'releaseFailed', allocationId: id, version: end.version, reason: 'pid 9 hangs' });
    for (let i = 0; i < 5; i += 1) {
      agent.sample();
      await eventually(
        () => it.pool.service.getServer(agent.id).lastSeenAt,
        (at) => at === it.clock.now(),
      );
      it.clock.advance(8_000);
    }
    const { findings } = await it.pool.service.health();
    expect(findings.find((finding) => finding.id === `stuck:${id}`)?.detail).toMatch(/pid 9 hangs/);
    agent.sample();
    agent.prove(id, end.version);
    await reached(id, 'revoked');
  });
});

describe('a worker that does not take the grant', () => {
  test('its reason is told and nothing is held', async () => {
    const agent = await it.agent({ obliging: false });
    const pending = request(agent);
    const { grant } = await agent.next('grant');
    const { allocationId, version } = grant;
    agent.send({ type: 'grantFailed', allocationId, version, reason: 'no such device' });
    await expect(pending).rejects.toMatchObject({
      code: 'GRANT_FAILED',
      message: expect.stringMatching(/no such device/),
    });
    const end = await agent.next('end');
    agent.prove(allocationId, end.version);
    await reached(allocationId, 'failed');
  });

  test('no answer within the time', async () => {
    const agent = await it.agent({ obliging: false });
    const pending = request(agent);
    const refused = expect(pending).rejects.toMatchObject({ code: 'GRANT_TIMEOUT' });
    const { grant } = await agent.next('grant');
    it.clock.advance(9_000);
    agent.sample();
    await eventually(
      () => it.pool.service.getServer(agent.id).lastSeenAt,
      (at) => at === it.clock.now(),
    );
    it.clock.advance(7_000);
    await refused;
    const end = await agent.next('end');
    agent.prove(grant.allocationId, end.version);
    await reached(grant.allocationId, 'failed');
  });

  test('the caller goes away meanwhile', async () => {
    const agent = await it.agent({ obliging: false });
    const abort = new AbortController();
    const pending = it.pool.service.requestAllocation(
      it.users.user,
      { gpus: 1, filters: [{ key: 'device.uuid', value: agent.gpus[0]?.uuid ?? '' }] },
      abort.signal,
    );
    const refused = expect(pending).rejects.toMatchObject({ code: 'REQUEST_ABORTED' });
    const { grant } = await agent.next('grant');
    abort.abort();
    await refused;
    agent.prove(grant.allocationId, (await agent.next('end')).version);
    await reached(grant.allocationId, 'released');
  });
});

describe('a new secret', () => {
  test('the worker has it before it is told, and the version goes up', async () => {
    const agent = await it.agent();
    const first = await request(agent);
    const { allocation, grant } = await it.pool.service.reissueGrant(it.users.user, first.allocation.id);
    expect(grant.secret).not.toBe(first.grant.secret);
    expect(allocation.version).toBe(first.allocation.version + 1);
    expect(agent.held.get(allocation.id)?.storedKey).toBe(
      createHash('sha256').update(Buffer.from(grant.secret, 'hex')).digest('hex'),
    );
    await expect(
      it.pool.service.renewAllocation(it.users.user, allocation.id, first.allocation.version),
    ).rejects.toMatchObject({ code: 'STALE_VERSION' });
  });

  test('not while the server is away', async () => {
    const agent = await it.agent();
    const { allocation } = await request(agent);
    await agent.disconnect();
    await eventually(
      () => it.pool.service.getServer(agent.id),
      (row) => !row.connected,
    );
    await expect(it.pool.service.reissueGrant(it.users.user, allocation.id)).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
    });
  });
});

test.each([
  ['release', (id: string) => it.pool.service.releaseAllocation({ ...it.users.user, id: 'another' }, id)],
  ['renew', (id: string) => it.pool.service.renewAllocation({ ...it.users.user, id: 'another' }, id, 3)],
  [
    'take the grant of',
    (id: string) => it.pool.service.reissueGrant({ ...it.users.user, id: 'another' }, id),
  ],
])('another user may not %s an allocation', async (_, attempt) => {
  const agent = await it.agent();
  const { allocation } = await request(agent);
  await expect(attempt(allocation.id)).rejects.toMatchObject({ code: 'ROLE_REQUIRED' });
  expect((await it.pool.service.getAllocation(allocation.id)).state).toBe('active');
});
