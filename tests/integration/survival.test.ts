// Processes of the pool are killed while programs run: the programs go on, and nothing is lost or doubled.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from './eventually';
import { isAlive, startHolder, type Holding } from './holder';
import { startPool, type Pool } from './pool';
import { allocations, listGpus, tasks } from './views';

let pool: Pool;
let holding: Holding | null = null;
beforeAll(async () => {
  pool = await startPool();
});
afterAll(() => pool?.stop());
afterEach(async () => {
  if (holding === null) return;
  if (isAlive(holding.programPid)) process.kill(holding.programPid, 'SIGTERM');
  await holding.ended;
  holding = null;
});

async function endNormally(): Promise<void> {
  if (holding === null) throw new Error('nothing runs');
  process.kill(holding.programPid, 'SIGTERM');
  expect(await holding.ended).toMatchObject({ exitCode: 143 });
  await eventually(async () => {
    expect(await allocations(pool)).toEqual([]);
    expect((await listGpus(pool)).slice(1)).toEqual([
      '|- GPU 0: free memory 8192 MiB / 8192 MiB',
      '|- GPU 1: free memory 8192 MiB / 8192 MiB',
    ]);
  });
}

describe('kill -9 of the agent', () => {
  test('the program goes on, and the next agent adopts it', async () => {
    holding = await startHolder(pool, ['run', '-m', '2048'], 300);
    const before = await tasks(pool);
    await pool.killAgent();
    expect(isAlive(holding.programPid)).toBe(true);
    await pool.startAgent();
    await eventually(async () => {
      const now = await tasks(pool);
      expect(now.map((task) => task.id)).toEqual(before.map((task) => task.id));
      expect(now[0]?.usedMib).toBeGreaterThanOrEqual(300);
    });
    expect(isAlive(holding.programPid)).toBe(true);
    await endNormally();
  });

  test('a program that ends meanwhile is known to have ended', async () => {
    holding = await startHolder(pool, ['run', '--lease', '10s'], 300);
    await pool.killAgent();
    process.kill(holding.programPid, 'SIGKILL');
    await pool.startAgent();
    await holding.ended;
    await eventually(async () => {
      expect(await tasks(pool)).toEqual([]);
      expect(await allocations(pool)).toEqual([]);
    }, 40_000);
  });
});

describe('kill -9 of the control plane', () => {
  test('the program goes on, and its allocation is still there', async () => {
    holding = await startHolder(pool, ['run', '-m', '2048'], 300);
    const [before] = await allocations(pool);
    await pool.killServer();
    expect(isAlive(holding.programPid)).toBe(true);
    await pool.restartServer();
    const after = await allocations(pool);
    expect(after).toMatchObject([{ id: before?.id, state: 'active' }]);
    await eventually(async () => expect(await tasks(pool)).toHaveLength(1));
    expect(isAlive(holding.programPid)).toBe(true);
    await endNormally();
  });

  test('what ends while it is away is given back when it is there again', async () => {
    holding = await startHolder(pool, ['run', '-m', '2048', '--lease', '10s'], 300);
    await pool.killServer();
    process.kill(holding.programPid, 'SIGTERM');
    expect((await holding.ended).stderr).toMatch(/could not be given back now/);
    await pool.restartServer();
    await eventually(async () => expect(await allocations(pool)).toEqual([]), 40_000);
  });
});

describe('kill -9 of the worker', () => {
  test('its program ends with an error and a sentence, and the next one runs', async () => {
    holding = await startHolder(pool, ['run', '-m', '2048'], 300);
    const before = pool.workerPid();
    process.kill(before, 'SIGKILL');
    const end = await holding.ended;
    expect(end.exitCode).toBe(3);
    expect(end.stderr.split('\n').slice(3)).toHaveLength(1);
    await eventually(async () => expect(await allocations(pool)).toEqual([]));
    await eventually(() => expect(pool.workerPid()).not.toBe(before));
    holding = await startHolder(pool, ['run', '-m', '2048'], 300);
    await endNormally();
  });
});
