// Unmodified CUDA programs on a pool's GPUs, through the command line, with real processes everywhere.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from './eventually';
import { holderProgram, isAlive, startHolder } from './holder';
import { startPool, type Pool } from './pool';
import { allocations, listGpus, servers, tasks } from './views';

let pool: Pool;
beforeAll(async () => {
  pool = await startPool();
});
afterAll(() => pool?.stop());

const idle = [
  expect.stringMatching(/^- server 0 \[127\.0\.0\.1:\d+\]: running 0 tasks$/),
  '|- GPU 0: free memory 8192 MiB / 8192 MiB',
  '|- GPU 1: free memory 8192 MiB / 8192 MiB',
];

async function nothingIsLeft(): Promise<void> {
  expect(await allocations(pool)).toEqual([]);
  await eventually(async () => expect(await listGpus(pool)).toEqual(idle));
}

describe('a program that runs to its end', () => {
  test.each(['device_query', 'matrix_mul', 'reduce', 'stream_overlap', 'saxpy_bandwidth'])(
    '%s',
    async (name) => {
      const sample = join(pool.env.SLUICE_NATIVE_DIR ?? '', 'samples', name);
      expect(existsSync(sample), `${sample} is built`).toBe(true);
      const result = await pool.sluice(['run', '-n', '1', '-m', '2048', '--', sample]);
      expect(result.exitCode, `${String(result.stdout)}\n${String(result.stderr)}\n${pool.output()}`).toBe(0);
      expect(String(result.stdout)).not.toBe('');
      expect(String(result.stderr).split('\n')).toEqual([
        'Requested resources:',
        expect.stringMatching(/^Server List: 127\.0\.0\.1:\d+$/),
        'Client idle timeout: 0 min',
      ]);
      await nothingIsLeft();
    },
  );

  test('its exit status is that of sluice', async () => {
    const { exitCode, stdout } = await pool.sluice(['run', 'sh', '-c', 'echo out; exit 42']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 42, stdout: 'out' });
  });

  test('128 + signal when a signal ended it', async () => {
    expect((await pool.sluice(['run', '--', 'sh', '-c', 'kill -KILL $$'])).exitCode).toBe(137);
  });
});

describe('while a program runs', () => {
  test('list_gpus, smi and allocations show it, and afterwards everything is as before', async () => {
    const holding = await startHolder(pool, ['run', '-n', '1', '-m', '2048'], 1000);
    const text = await listGpus(pool);
    expect(text[0]).toMatch(/running 1 tasks$/);
    expect(text.slice(1).sort()).toEqual([
      '|- GPU 0: free memory 6144 MiB / 8192 MiB',
      '|- GPU 1: free memory 8192 MiB / 8192 MiB',
    ]);
    await eventually(async () => {
      const [gpu] = (await servers(pool))
        .flatMap((server) => server.gpus)
        .filter((entry) => entry.grantedMib > 0);
      expect(gpu?.memoryUsedMib).toBeGreaterThanOrEqual(1000);
      const [task] = await tasks(pool);
      expect(task).toMatchObject({
        command: expect.stringContaining('holder'),
        clientPid: holding.programPid,
      });
      expect(task?.usedMib).toBeGreaterThanOrEqual(1000);
    });
    expect(String((await pool.sluice(['smi'])).stdout)).toMatch(/holder/);
    process.kill(holding.programPid, 'SIGTERM');
    expect(await holding.ended).toMatchObject({ exitCode: 143, stdout: 'holding 1000 MiB' });
    await nothingIsLeft();
  });

  test('another runs beside it, also on the same GPU', async () => {
    const both = await Promise.all([
      startHolder(pool, ['run', '-m', '5000'], 100),
      startHolder(pool, ['run', '-m', '5000'], 100),
    ]);
    const third = await startHolder(pool, ['run', '-m', '3000'], 100);
    expect((await listGpus(pool))[0]).toMatch(/running 3 tasks$/);
    expect((await pool.sluice(['run', '-m', '5000', 'true'])).stderr).toMatch(/^sluice: /);
    for (const holding of [...both, third]) process.kill(holding.programPid, 'SIGTERM');
    await Promise.all([...both, third].map((holding) => holding.ended));
    await nothingIsLeft();
  });

  test('it gets no more memory than asked for', async () => {
    const run = (mib: number) =>
      pool.sluice(['run', '-m', '1024', '--', holderProgram(), String(mib), 'quit']);
    expect(await run(1000)).toMatchObject({ exitCode: 0 });
    expect(await run(1025)).toMatchObject({ exitCode: 2, stdout: 'cuMemAlloc failed: 2' });
  });
});

describe('nothing is left after', () => {
  test('Ctrl-C', async () => {
    const holding = await startHolder(pool, ['run'], 500);
    process.kill(holding.pid, 'SIGINT');
    expect(await holding.ended).toMatchObject({ exitCode: 130 });
    expect(isAlive(holding.programPid)).toBe(false);
    await nothingIsLeft();
  });

  test.each(['SIGTERM', 'SIGHUP'] as const)('%s to the command line', async (signal) => {
    const holding = await startHolder(pool, ['run'], 500);
    process.kill(holding.pid, signal);
    expect(await holding.ended).toMatchObject({ exitCode: signal === 'SIGTERM' ? 143 : 129 });
    await nothingIsLeft();
  });

  test('kill -9 of the program', async () => {
    const holding = await startHolder(pool, ['run'], 500);
    process.kill(holding.programPid, 'SIGKILL');
    expect(await holding.ended).toMatchObject({ exitCode: 137 });
    await nothingIsLeft();
  });

  test('kill -9 of the command line and the program: the lease runs out', async () => {
    const holding = await startHolder(pool, ['run', '--lease', '10s'], 500);
    process.kill(holding.pid, 'SIGKILL');
    process.kill(holding.programPid, 'SIGKILL');
    await holding.ended;
    await eventually(nothingIsLeft, 40_000);
  });

  test('a program that is not there', async () => {
    expect(await pool.sluice(['run', '--', './no-such-program'])).toMatchObject({
      exitCode: 127,
      stderr: expect.stringContaining('nothing was allocated'),
    });
    const all = String((await pool.sluice(['allocations', '--all', '--json'])).stdout);
    expect(all).not.toContain('no-such-program');
  });
});

test('a revoked program ends within 2 seconds, with one sentence', async () => {
  const holding = await startHolder(pool, ['run'], 500);
  const [allocation] = await allocations(pool);
  const startedAt = Date.now();
  const revoked = pool.sluice(['revoke', allocation?.id ?? '', '--reason', 'needed for the demonstration']);
  await eventually(() => expect(isAlive(holding.programPid)).toBe(false));
  const tookMs = Date.now() - startedAt;
  expect(await revoked).toMatchObject({ exitCode: 0 });
  const end = await holding.ended;
  expect(end).toMatchObject({ exitCode: 3, stdout: expect.stringMatching(/failed: \d+$/) });
  const said = end.stderr.split('\n').slice(3);
  expect(said).toEqual([expect.stringContaining('needed for the demonstration')]);
  // The command line's own start is part of it.
  expect(tookMs).toBeLessThan(2000);
  await nothingIsLeft();
});

test('GPUs that are held serve several programs', async () => {
  expect(await pool.sluice(['request_gpus', '-n', '1', '-m', '2048'])).toMatchObject({ exitCode: 0 });
  const again = await pool.sluice(['request_gpus']);
  expect(again).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('held already') });
  for (let round = 0; round < 2; round++) {
    const result = await pool.sluice(['client', '--', holderProgram(), '100', 'quit']);
    expect(result).toMatchObject({ exitCode: 0, stdout: 'holding 100 MiB' });
  }
  const [allocation] = await allocations(pool);
  const byId = await pool.sluice([
    'client',
    '--allocation',
    allocation?.id ?? '',
    '--',
    holderProgram(),
    '100',
    'quit',
  ]);
  expect(byId).toMatchObject({ exitCode: 0 });
  expect(await pool.sluice(['release_gpus'])).toMatchObject({ exitCode: 0 });
  expect(await pool.sluice(['client', 'true'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('No allocation is held'),
  });
  await nothingIsLeft();
});

test('an allocation that was revoked meanwhile is refused with its reason', async () => {
  await pool.sluice(['request_gpus', '-n', '1']);
  const [allocation] = await allocations(pool);
  await pool.sluice(['revoke', allocation?.id ?? '', '--reason', 'maintenance']);
  await eventually(async () => expect(await allocations(pool)).toEqual([]));
  const result = await pool.sluice(['client', 'true']);
  expect(result).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/revoked.*maintenance.*release_gpus/),
  });
  expect(await pool.sluice(['release_gpus'])).toMatchObject({ exitCode: 0 });
});

test('a wrong token is refused with what to do', async () => {
  const env = { ...pool.env, SLUICE_TOKEN: 'wrong' };
  expect(await pool.sluice(['list_gpus'], { env })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/^sluice: .*token.*sluice login/i),
  });
});

test('health is good, and names what is checked', async () => {
  const { exitCode, stdout } = await pool.sluice(['health']);
  expect(String(stdout)).toMatch(/Data plane 127\.0\.0\.1:\d+: Reached/);
  expect(String(stdout)).toMatch(/Driver library for programs: .* loads/);
  expect(exitCode, String(stdout)).toBe(0);
});
