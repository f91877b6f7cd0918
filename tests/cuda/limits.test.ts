// The memory of a grant is exact to the granularity, whatever the way of allocating, and what it shows of itself
// is what it is. The program takes what cuMemGetInfo says is free: here that is the grant, not the GPU.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { native, start } from './programs';
import { grantOne, startPool, type TestPool } from './worker';

const program = join(native.workerBinary, '../../tests/driver/limit_ways');
let pool: TestPool;

beforeAll(async () => {
  pool = await startPool('1x(memory=1GiB,cc=10.0,sms=4)');
});
afterAll(() => pool?.stop());

describe.skipIf(!existsSync(program))('the memory of a grant', () => {
  for (const memoryMib of [64, 250, 1024]) {
    it(`is ${memoryMib} MiB to the last granule`, async () => {
      const { environment } = await grantOne(pool, memoryMib);
      const outcome = await start(program, [], environment).done;
      expect(outcome, outcome.stderr).toMatchObject({ code: 0, signal: null });
      expect(outcome.stdout.match(/: exact$/gm)).toHaveLength(6);
    });
  }
});
