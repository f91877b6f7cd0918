// What comes in at /agent is not trusted: wrong tokens, wrong messages, taken identities.
import { randomUUID } from 'node:crypto';
import { WebSocket } from 'ws';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ScriptedAgent } from '../pool/scriptedAgent';
import { eventually } from '../pool/eventually';
import { startTestPool, type TestPool } from '../pool/testPool';

let it: TestPool;
beforeAll(async () => {
  it = await startTestPool();
});
afterAll(() => it.stop());

const statusOf = (authorization: string | undefined): Promise<number | undefined> =>
  new Promise((resolve) => {
    const socket = new WebSocket(`${it.url.replace('http', 'ws')}/agent`, {
      headers: authorization === undefined ? {} : { authorization },
    });
    socket.on('error', () => undefined);
    socket.on('open', () => resolve(101));
    socket.on('unexpected-response', (_request, response) => resolve(response.statusCode));
  });

test.each([
  ['no token', () => undefined, 401],
  ['an unknown token', () => 'Bearer sluice_agent_nope', 401],
  ["a user's token", () => `Bearer ${it.tokens.admin}`, 403],
  ["an agent's token", () => `Bearer ${it.agentToken}`, 101],
])('%s', async (_, authorization, status) => {
  expect(await statusOf(authorization())).toBe(status);
});

describe('a message that does not fit closes its connection and no other', () => {
  const open = async (hello = {}) => {
    const agent = new ScriptedAgent({ url: it.url, token: it.agentToken, hello });
    await agent.open();
    return agent;
  };

  test.each<[string, (agent: ScriptedAgent) => void, RegExp]>([
    ['not JSON', (agent) => agent.sendText('{'), /not JSON/],
    ['an unknown type', (agent) => agent.sendText('{"type":"attack"}'), /type/],
    [
      'a wrong field',
      (agent) => agent.sendText(JSON.stringify({ ...agent.hello(), gpus: [{ uuid: 5 }] })),
      /gpus\.0\.uuid/,
    ],
    ['telemetry before the hello', (agent) => agent.sample(), /first message/],
    [
      'another protocol',
      (agent) => agent.send({ ...agent.hello(), protocol: 99 }),
      /update the control plane/,
    ],
  ])('%s', async (_, send, sentence) => {
    const other = await it.agent();
    const agent = await open();
    send(agent);
    expect((await agent.next('refused')).message).toMatch(sentence);
    await agent.untilClosed();
    expect(other.closed).toBe(false);
    expect(it.pool.service.getServer(other.id).connected).toBe(true);
  });

  test('a message that is too large', async () => {
    const agent = await open();
    agent.sendText('x'.repeat(5 * 1024 * 1024));
    await agent.untilClosed();
  });
});

describe('identity', () => {
  test('a GPU that another connected server has is refused', async () => {
    const uuid = `GPU-${randomUUID()}`;
    const first = await it.agent({ gpus: [{ uuid }] });
    const second = new ScriptedAgent({ url: it.url, token: it.agentToken, gpus: [{ uuid }] });
    await second.open();
    second.send(second.hello());
    expect(await second.next('refused')).toMatchObject({
      code: 'AGENT_IDENTITY_TAKEN',
      message: expect.stringContaining(first.id),
    });
  });

  test("an agent's identity cannot be taken with another token while its own is good", async () => {
    const agent = await it.agent();
    const { token, row } = await it.auth.createToken(it.users.admin, {
      name: 'other',
      kind: 'agent',
      userId: it.users.admin.id ?? '',
    });
    const thief = new ScriptedAgent({ url: it.url, token, id: agent.id });
    await thief.open();
    thief.send(thief.hello());
    expect((await thief.next('refused')).code).toBe('AGENT_IDENTITY_TAKEN');
    expect(it.pool.service.getServer(agent.id).connected).toBe(true);
    expect(row.kind).toBe('agent');
  });

  test('a card that moved to another host is there now, and no longer here', async () => {
    const uuid = `GPU-${randomUUID()}`;
    const before = await it.agent({ gpus: [{ uuid }] });
    await before.disconnect();
    await eventually(
      () => it.pool.service.getServer(before.id),
      (row) => !row.connected,
    );
    const after = await it.agent({ gpus: [{ uuid }] });
    expect(it.pool.service.getServer(after.id).gpus.map((gpu) => gpu.uuid)).toEqual([uuid]);
    expect(
      it.pool.service.listServers().filter((server) => server.gpus.some((gpu) => gpu.uuid === uuid)),
    ).toHaveLength(1);
  });
});

test('after a reconnect both sides have the same allocations: adopted, ended, or never heard of', async () => {
  const agent = await it.agent();
  const filters = [{ key: 'device.uuid', value: agent.gpus[0]?.uuid ?? '' }];
  const keep = await it.pool.service.requestAllocation(it.users.user, { gpus: 1, memoryMib: 1000, filters });
  const drop = await it.pool.service.requestAllocation(it.users.user, { gpus: 1, memoryMib: 1000, filters });
  const session = agent.startSession(keep.allocation.id);
  await eventually(
    () => it.pool.service.listTasks({ allocationId: keep.allocation.id, active: true }),
    (tasks) => tasks.length === 1,
  );
  await agent.disconnect();
  await eventually(
    () => it.pool.service.getServer(agent.id),
    (row) => !row.connected,
  );
  await it.pool.service.releaseAllocation(it.users.user, drop.allocation.id);
  agent.startSession('al-unknown', { id: 'stranger' });

  const before = agent.received.length;
  await agent.connect();
  const { grants } = await agent.next('grants', before);
  expect(grants.map((grant) => grant.allocationId)).toEqual([keep.allocation.id]);
  expect((await agent.next('end', before)).allocationId).toBe(drop.allocation.id);
  const tasks = await it.pool.service.listTasks({ active: true });
  expect(tasks.filter((task) => task.serverId === agent.id).map((task) => task.id)).toEqual([session.id]);
});
