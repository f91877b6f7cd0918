// Every program of driver/ on the software GPU directly and through the proxy: both end well and say the same,
// and through the proxy none takes more round trips than its budget. The budget is in the program's text,
// "Round trips: N.", and is what the program needs today: more is a regression of what users feel on a real
// network.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { native, runWithStats, start } from './programs';
import { startPool, type TestPool } from './worker';

const SOFTGPU = '2x(memory=2GiB,cc=10.0,sms=16)';

const sources = join(import.meta.dirname, 'driver');
const built = join(native.workerBinary, '../../tests/driver');
const names = readdirSync(sources)
  .filter((file) => file.endsWith('.cc'))
  .map((file) => file.slice(0, -'.cc'.length))
  .sort();

let pool: TestPool;
let granted: Readonly<Record<string, string | null>>;

beforeAll(async () => {
  pool = await startPool(SOFTGPU);
  const gpus = pool.uuids.map((uuid) => ({ uuid, memoryMib: null }));
  granted = (await pool.worker.grant(gpus)).environment;
});
afterAll(() => pool?.stop());

describe('programs against the driver API', () => {
  for (const name of names) {
    const file = join(built, name);
    const budget = budgetOf(name);
    if (!existsSync(file)) {
      it.skip(`${name} (${file} is not there; build the native tests: npm test)`);
      continue;
    }
    it(`${name} does the same directly and through the proxy`, async () => {
      const direct = await start(file, [], pool.direct).done;
      expect(direct, direct.stderr).toMatchObject({ code: 0, signal: null });

      const { outcome, stats } = await runWithStats(file, [], granted);
      expect(outcome, outcome.stderr).toMatchObject({ code: 0, signal: null });
      expect(outcome.stdout).toBe(direct.stdout);
      if (stats === null) throw new Error('the client library wrote no SLUICE_STATS');
      console.info(`${name}: ${stats.roundTrips} round trips, ${stats.launches} launches`);
      expect(stats.roundTrips, `${name} took more round trips than before`).toBeLessThanOrEqual(budget);
    });
  }
});

function budgetOf(name: string): number {
  const [, budget] =
    /^\/\/ Round trips: (\d+)\.$/m.exec(readFileSync(join(sources, `${name}.cc`), 'utf8')) ?? [];
  if (budget === undefined) throw new Error(`driver/${name}.cc has no line "// Round trips: N."`);
  return Number(budget);
}
