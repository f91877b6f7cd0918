// Leases: judged by the server's clock, renewed by holders and by programs that run.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from './eventually';
import type { ScriptedAgent } from './scriptedAgent';
import { startTestPool, type TestPool } from './testPool';

let it: TestPool;
beforeAll(async () => {
  it = await startTestPool();
});
afterAll(() => it.stop());

/** A minute's lease on an agent of its own. */
async function lease(): Promise<{ agent: ScriptedAgent; id: string; version: number }> {
  const agent = await it.agent();
  const { allocation } = await it.pool.service.requestAllocation(it.users.user, {
    gpus: 1,
    leaseSeconds: 60,
    filters: [{ key: 'device.uuid', value: agent.gpus[0]?.uuid ?? '' }],
  });
  return { agent, id: allocation.id, version: allocation.version };
}

/** Time passes with the agents alive. */
async function pass(seconds: number, ...agents: ScriptedAgent[]): Promise<void> {
  for (let i = 0; i < seconds; i += 5) {
    it.clock.advance(5_000);
    for (const agent of agents) {
      agent.sample();
      await eventually(
        () => it.pool.service.getServer(agent.id).lastSeenAt,
        (at) => at === it.clock.now(),
      );
    }
    await it.pool.sweep();
  }
}

const state = async (id: string) => (await it.pool.service.getAllocation(id)).state;

test('nobody renews: it expires and the GPU comes back', async () => {
  const { agent, id } = await lease();
  await pass(55, agent);
  expect(await state(id)).toBe('active');
  await pass(10, agent);
  await eventually(
    () => state(id),
    (now) => now === 'expired',
  );
  await expect(it.pool.service.renewAllocation(it.users.user, id, 3)).rejects.toMatchObject({
    code: 'ALLOCATION_NOT_ACTIVE',
  });
  const { allocation } = await it.pool.service.requestAllocation(it.users.user, {
    gpus: 1,
    filters: [{ key: 'device.uuid', value: agent.gpus[0]?.uuid ?? '' }],
  });
  expect(allocation.state).toBe('active');
});

test('its holder renews: it lives, at the same version', async () => {
  const { agent, id, version } = await lease();
  for (let i = 0; i < 5; i += 1) {
    await pass(30, agent);
    const renewed = await it.pool.service.renewAllocation(it.users.user, id, version);
    expect(renewed).toMatchObject({ version, leaseExpiresAt: it.clock.now() + 60_000 });
  }
  expect(await state(id)).toBe('active');
});

test('a renewal with a stale version is refused', async () => {
  const { id, version } = await lease();
  await expect(it.pool.service.renewAllocation(it.users.user, id, version - 1)).rejects.toMatchObject({
    code: 'STALE_VERSION',
  });
});

describe('a program that runs', () => {
  const running = async () => {
    const held = await lease();
    const session = held.agent.startSession(held.id);
    await eventually(
      () => it.pool.service.listTasks({ allocationId: held.id, active: true }),
      (tasks) => tasks.length === 1,
    );
    return { ...held, session };
  };

  test('keeps the lease, and when it ends the lease runs out', async () => {
    const { agent, id, session } = await running();
    await pass(300, agent);
    expect(await state(id)).toBe('active');
    agent.endSession(session.id);
    const ended = await eventually(
      () => it.pool.service.listTasks({ allocationId: id }),
      ([task]) => task?.endedAt !== null,
    );
    expect(ended).toMatchObject([
      { how: 'closed', launches: 3, bytesOut: 200, command: './train', clientHost: 'laptop' },
    ]);
    await pass(70, agent);
    await eventually(
      () => state(id),
      (now) => now === 'expired',
    );
  });

  test('keeps it also while its agent is away', async () => {
    const { agent, id } = await running();
    await agent.disconnect();
    await pass(300);
    expect(await state(id)).toBe('active');
    await agent.connect();
    expect(await it.pool.service.listTasks({ allocationId: id, active: true })).toHaveLength(1);
  });

  test('and ends unseen: the reconnect tells, and the lease runs out', async () => {
    const { agent, id } = await running();
    await agent.disconnect();
    agent.sessions.length = 0;
    await agent.connect();
    expect(await it.pool.service.listTasks({ allocationId: id })).toMatchObject([
      { how: 'closed', detail: expect.stringMatching(/not connected/) },
    ]);
    await pass(70, agent);
    await eventually(
      () => state(id),
      (now) => now === 'expired',
    );
  });
});

test('a server that was down does not let leases run out at once', async () => {
  const { agent, id, version } = await lease();
  await it.restart(3_600_000);
  await it.pool.sweep();
  expect(await state(id)).toBe('active');
  await it.pool.service.renewAllocation(it.users.user, id, version);
  expect(agent.closed).toBe(true);
});

test('an agent that falls silent is taken for gone', async () => {
  const agent = await it.agent();
  it.clock.advance(11_000);
  await it.pool.sweep();
  await agent.untilClosed();
  const server = await eventually(
    () => it.pool.service.getServer(agent.id),
    (row) => row.state === 'unreachable',
  );
  expect(server.gpus[0]).toMatchObject({ memoryUsedMib: null, utilizationPercent: null, health: 'unknown' });
});
