// Which GPUs a program sees, and that it works on each; once with TLS off.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { programs, start } from './programs';
import { startPool, type TestPool } from './worker';

let pool: TestPool;

beforeAll(async () => {
  pool = await startPool('2x(memory=2GiB,cc=10.0,sms=4)', false);
});
afterAll(() => pool?.stop());

const sample = (name: string) =>
  programs.find((entry) => entry.form === 'driver' && entry.name === name)?.file ?? '';

/** Variables of a program that was granted the pool's GPUs with these indices, in this order. */
async function granted(...indices: number[]) {
  const gpus = indices.map((index) => ({ uuid: pool.uuids[index] ?? '', memoryMib: 512 }));
  return (await pool.worker.grant(gpus)).environment;
}

const uuidsIn = (stdout: string) => [...stdout.matchAll(/GPU-[0-9a-f-]{36}/g)].map(([uuid]) => uuid);

describe('a program with several GPUs', () => {
  it('finds two different ones without a proxy', () => {
    expect(new Set(pool.uuids).size).toBe(2);
  });

  it.each([[[0]], [[1]], [[0, 1]], [[1, 0]]])(
    'sees exactly those granted, in the order of the grant: %j',
    async (indices) => {
      const outcome = await start(sample('device_query'), [], await granted(...indices)).done;
      expect(outcome, outcome.stderr).toMatchObject({ code: 0 });
      expect(uuidsIn(outcome.stdout)).toEqual(indices.map((index) => pool.uuids[index]));
      expect(outcome.stdout.match(/^ {2}Memory +512 MiB$/gm)).toHaveLength(indices.length);
    },
  );

  it('computes on the second', async () => {
    const environment = await granted(0, 1);
    const outcome = await start(sample('matrix_mul'), ['--device', '1', '--size', '50'], environment).done;
    expect(outcome, outcome.stderr).toMatchObject({ code: 0 });
    expect(outcome.stdout).toContain('all 2500 elements equal');
  });

  it('is refused one that it does not have', async () => {
    const outcome = await start(sample('matrix_mul'), ['--device', '1', '--size', '50'], await granted(0))
      .done;
    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toContain('CUDA_ERROR_INVALID_DEVICE');
  });
});
