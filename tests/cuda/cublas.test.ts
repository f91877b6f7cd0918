// NVIDIA's cuBLAS and cuBLASLt, unmodified, on the software GPU directly and through the proxy: matrix products
// come out as a reference computed in double precision says, and the first fp16 product does not wait for the
// network again and again.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../server/proxy/projectPaths';
import { native, runWithStats, start } from './programs';
import { grantOne, startPool, type TestPool } from './worker';

const toolchain = process.env.SLUICE_CUBLAS || join(projectRoot(), '.toolchains/cublas');
const program = join(native.workerBinary, '../../tests/cublas/gemm');

/**
 * `firstHalf` and `all` are round trips through the proxy. cuBLASLt 12.4 looks for cuStreamWaitValue32 and
 * cuStreamBatchMemOp in the driver and makes no handle without them: the software GPU itself lacks them.
 */
const versions = [
  { name: 'cublas11', runsDirectly: true, firstHalf: 15, all: 116 },
  { name: 'cublas12', runsDirectly: false, firstHalf: 16, all: 0 },
] as const;

let pool: TestPool;
let granted: Readonly<Record<string, string | null>>;

beforeAll(async () => {
  pool = await startPool();
  granted = (await grantOne(pool, null)).environment;
});
afterAll(() => pool?.stop());

describe.each(versions)('the libraries of $name', ({ name, runsDirectly, firstHalf, all }) => {
  const folder = join(toolchain, name, 'nvidia/cublas/lib');
  const missing = !existsSync(folder)
    ? ` (${folder} is not there: tests/cuda/toolchain/fetchCublas.sh)`
    : !existsSync(program)
      ? ` (${program} is not there: build the native tests, npm test)`
      : '';

  const lacks = missing || (runsDirectly ? '' : ' (the software GPU has no cuStreamWaitValue32)');
  it.skipIf(lacks !== '')(`compute every product directly and through the proxy${lacks}`, async () => {
    const direct = await start(program, [folder], pool.direct).done;
    expect(direct, direct.stdout + direct.stderr).toMatchObject({ code: 0, signal: null });

    const { outcome, stats } = await runWithStats(program, [folder], granted);
    expect(outcome, outcome.stdout + outcome.stderr).toMatchObject({ code: 0, signal: null });
    expect(outcome.stdout).toBe(direct.stdout);
    console.info(`${name}, all products: ${JSON.stringify(stats)}`);
    expect(stats?.roundTrips).toBeLessThanOrEqual(all);
  });

  it.skipIf(missing !== '')(`compute a first fp16 product in few round trips${missing}`, async () => {
    const { outcome, stats } = await runWithStats(program, [folder, 'gemmex-f16'], granted);
    expect(outcome, outcome.stdout + outcome.stderr).toMatchObject({ code: 0, signal: null });
    console.info(`${name}, one fp16 product: ${JSON.stringify(stats)}`);
    expect(stats?.roundTrips).toBeLessThanOrEqual(firstHalf);
  });
});
