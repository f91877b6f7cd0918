// No GPU is ever given out twice, whoever asks at the same time.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isSluiceError } from '@/server/errors';
import type { AllocationRequest } from '@/server/pool/requests';
import { eventually } from './eventually';
import { startTestPool, type TestPool } from './testPool';
import type { ScriptedAgent } from './scriptedAgent';

let it: TestPool;
beforeAll(async () => {
  it = await startTestPool();
});
afterAll(() => it.stop());

const onlyOn = (agent: ScriptedAgent) => [{ key: 'server.hostname', value: `host-${agent.id}` }];

const ask = (agent: ScriptedAgent, request: Partial<AllocationRequest>) =>
  it.pool.service.requestAllocation(it.users.user, { gpus: 1, filters: onlyOn(agent), ...request });

const refusal = async (attempt: Promise<unknown>): Promise<string> => {
  try {
    await attempt;
  } catch (error) {
    if (isSluiceError(error)) return `${error.code}: ${error.message} ${error.hint ?? ''}`;
    throw error;
  }
  return 'granted';
};

const gpus = (...memory: number[]) =>
  memory.map((memoryTotalMib, i) => ({ uuid: `GPU-${Math.random()}-${i}`, memoryTotalMib }));

const sampled = async (agent: ScriptedAgent, ...samples: Parameters<ScriptedAgent['sample']>) => {
  it.clock.advance(1);
  agent.sample(...samples);
  await eventually(
    () => it.pool.service.getServer(agent.id).lastSeenAt,
    (at) => at === it.clock.now(),
  );
};

test('without any server that is said, and what to do', async () => {
  const request = it.pool.service.requestAllocation(it.users.user, { gpus: 1 });
  expect(await refusal(request)).toMatch(/^NO_SERVERS: No GPU server .* `sluice agent`/);
});

test('200 concurrent requests of mixed sizes never exceed any GPU', async () => {
  const agent = await it.agent({ gpus: gpus(8192, 8192, 8192, 8192) });
  const sizes = [512, 1024, 2000, 3000, undefined];
  const outcomes = await Promise.allSettled(
    Array.from({ length: 200 }, (_, i) =>
      ask(agent, { memoryMib: sizes[i % sizes.length], gpus: 1 + (i % 2) }),
    ),
  );
  const granted = outcomes.flatMap((outcome) =>
    outcome.status === 'fulfilled' ? [outcome.value.allocation] : [],
  );
  expect(granted.length).toBeGreaterThan(4);
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
  expect(refused.every((error: unknown) => isSluiceError(error) && error.code === 'GPU_BUSY')).toBe(true);

  for (const { uuid, memoryTotalMib } of agent.gpus) {
    const parts = granted.flatMap(({ gpus }) => gpus).filter((gpu) => gpu.uuid === uuid);
    const whole = parts.some((part) => part.memoryMib === null);
    if (whole) expect(parts).toHaveLength(1);
    expect(parts.reduce((sum, part) => sum + (part.memoryMib ?? memoryTotalMib), 0)).toBeLessThanOrEqual(
      memoryTotalMib,
    );
  }
  // And what one gives back, another gets.
  const [first] = granted;
  await it.pool.service.releaseAllocation(it.users.user, first?.id ?? '');
  await eventually(
    () => it.pool.service.getAllocation(first?.id ?? ''),
    (row) => row.state === 'released',
  );
  const size = first?.gpus[0]?.memoryMib ?? undefined;
  await ask(agent, { memoryMib: size, gpus: first?.gpus.length ?? 1 });
});

describe('what is in the way is said', () => {
  test.each<[string, Partial<AllocationRequest>, RegExp]>([
    [
      'more GPUs than any server has',
      { gpus: 5 },
      /^GPU_COUNT_UNAVAILABLE: 5 GPUs .* the largest server has 2\. Ask for at most 2/,
    ],
    [
      'more memory than any GPU has',
      { memoryMib: 99_999 },
      /^GPU_MEMORY_UNAVAILABLE: 99999 MiB .* largest GPU has 8192 MiB/,
    ],
    [
      'as much on more GPUs than have it',
      { gpus: 2, memoryMib: 8000 },
      /^GPU_MEMORY_UNAVAILABLE: .* more than 1 that large/,
    ],
    [
      'a server that is not there',
      { serverList: ['10.9.9.9:1'] },
      /^SERVER_NOT_FOUND: No server 10\.9\.9\.9:1/,
    ],
    [
      'an unknown filter',
      { filters: [{ key: 'colour', value: 'red' }] },
      /^FILTER_UNKNOWN: There is no filter "colour"\. Filters: /,
    ],
    [
      'a filter that matches nothing',
      { filters: [{ key: 'device.name', value: 'H900' }] },
      /^FILTER_UNMATCHED: .*H900/,
    ],
  ])('%s', async (_, request, sentence) => {
    const agent = await it.agent({ gpus: gpus(8192, 4096) });
    expect(await refusal(ask(agent, request))).toMatch(sentence);
  });
});

describe('memory that the pool did not give out', () => {
  const stranger = (usedMib: number | null) => [{ pid: 99, name: 'Xorg', usedMib }];

  test('of foreign processes counts as used, and keeps a GPU from being given whole', async () => {
    const agent = await it.agent({ gpus: gpus(8192) });
    await sampled(agent, [{ memoryUsedMib: 3000, memoryFreeMib: 5192, processes: stranger(3000) }]);
    expect(await refusal(ask(agent, { memoryMib: 6000 }))).toMatch(/^GPU_BUSY: .*5192 MiB/);
    expect(await refusal(ask(agent, {}))).toMatch(/^GPU_BUSY/);
    expect(await refusal(ask(agent, { memoryMib: 5000 }))).toBe('granted');
  });

  test('of a process that does not tell its share is judged by the whole GPU', async () => {
    const agent = await it.agent({ gpus: gpus(8192) });
    await sampled(agent, [{ memoryUsedMib: 3000, memoryFreeMib: 5192, processes: stranger(null) }]);
    expect(await refusal(ask(agent, { memoryMib: 6000 }))).toMatch(/^GPU_BUSY/);
  });

  test("of the driver itself is not given, and the pool's own programs are no strangers", async () => {
    const agent = await it.agent({ gpus: gpus(8192) });
    await sampled(agent, [{ memoryReservedMib: 500 }]);
    const { allocation } = await ask(agent, { fraction: 0.5 });
    expect(allocation.gpus[0]?.memoryMib).toBe(3846);
    agent.startSession(allocation.id, { workerPid: 4711 });
    await eventually(
      () => it.pool.service.getServer(agent.id).taskCount,
      (count) => count === 1,
    );
    await sampled(agent, [
      { memoryReservedMib: 500, memoryUsedMib: 3500, processes: [{ pid: 4711, name: 'w', usedMib: 3500 }] },
    ]);
    expect(await refusal(ask(agent, { fraction: 0.5 }))).toBe('granted');
  });
});

describe('placement', () => {
  test('several GPUs come from one server, numbered as the server numbers them', async () => {
    const agent = await it.agent({ gpus: gpus(8192, 8192, 8192) });
    const { allocation } = await ask(agent, { gpus: 3, memoryMib: 100 });
    expect(allocation.gpus.map((gpu) => gpu.index)).toEqual([0, 1, 2]);
  });

  test('a part goes where the least is left over, so that whole GPUs stay whole', async () => {
    const agent = await it.agent({ gpus: gpus(8192, 8192) });
    const first = await ask(agent, { memoryMib: 4000 });
    const second = await ask(agent, { memoryMib: 4000 });
    expect(second.allocation.gpus[0]?.uuid).toBe(first.allocation.gpus[0]?.uuid);
    await ask(agent, {});
  });

  test('a cordoned server gets nothing new and keeps what it has', async () => {
    const agent = await it.agent();
    const { allocation } = await ask(agent, { memoryMib: 100 });
    await it.pool.service.cordonServer(it.users.operator, agent.id, true);
    expect(await refusal(ask(agent, { memoryMib: 100 }))).not.toBe('granted');
    expect((await it.pool.service.getAllocation(allocation.id)).state).toBe('active');
    await it.pool.service.cordonServer(it.users.operator, agent.id, false);
    expect(await refusal(ask(agent, { memoryMib: 100 }))).toBe('granted');
  });

  test('a server whose worker is down gets nothing', async () => {
    const agent = await it.agent();
    agent.send({ type: 'health', worker: 'down', detail: 'no driver' });
    await eventually(
      () => it.pool.service.getServer(agent.id).state,
      (state) => state === 'joining',
    );
    expect(await refusal(ask(agent, {}))).not.toBe('granted');
    expect(it.pool.service.getServer(agent.id).problem).toBe('no driver');
  });
});

describe('waiting', () => {
  test('a waiting request gets what another gives back', async () => {
    const agent = await it.agent();
    const { allocation } = await ask(agent, {});
    const waiting = ask(agent, { waitSeconds: 30 });
    await it.pool.service.releaseAllocation(it.users.user, allocation.id);
    expect((await waiting).allocation.state).toBe('active');
  });

  test('its time ends it', async () => {
    const agent = await it.agent();
    await ask(agent, {});
    const refused = refusal(ask(agent, { waitSeconds: 5 }));
    // After this the first attempt has been refused and waits.
    await it.db.exclusive(() => Promise.resolve());
    for (let i = 0; i < 6; i += 1) await sampled(agent).then(() => it.clock.advance(1_000));
    expect(await refused).toMatch(/^GPU_BUSY/);
  });
});
