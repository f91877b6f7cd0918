// Every sample in every form, on the software GPU directly and through the
// proxy: both succeed, say the same, and the proxy keeps its round-trip budget.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { budget } from './budgets';
import { comparable, forms, programs, runWithStats, start } from './programs';
import { grantOne, startPool, type TestPool } from './worker';

let pool: TestPool;
let granted: Readonly<Record<string, string | null>>;

beforeAll(async () => {
  pool = await startPool();
  granted = (await grantOne(pool, null)).environment;
});
afterAll(() => pool?.stop());

for (const form of forms) {
  describe(`written for ${form}`, () => {
    for (const program of programs.filter((entry) => entry.form === form)) {
      if (program.missing !== null) {
        it.skip(`${program.name} (${program.missing})`);
        continue;
      }
      it(`${program.name} says the same directly and through the proxy, within its budget`, async () => {
        const direct = await start(program.file, [], pool.direct).done;
        expect(direct, direct.stderr).toMatchObject({ code: 0, signal: null });

        const { outcome, stats } = await runWithStats(program.file, [], granted);
        expect(outcome, outcome.stderr).toMatchObject({ code: 0, signal: null });
        expect(comparable(outcome.stdout)).toBe(comparable(direct.stdout));

        const allowed = budget(program.name, form);
        if (stats === null) throw new Error('the client library wrote no SLUICE_STATS');
        console.info(`${form} ${program.name}: ${stats.roundTrips} round trips, ${stats.launches} launches`);
        expect(stats.launches).toBe(allowed.launches);
        expect(stats.roundTrips).toBeGreaterThan(0);
        expect(stats.roundTrips, `${program.name} took more round trips than before`).toBeLessThanOrEqual(
          allowed.roundTrips,
        );
      });
    }
  });
}

describe('bad numbers', () => {
  it('a sample with an option it does not know prints its usage and ends with 2', async () => {
    const driver = programs.find((entry) => entry.form === 'driver' && entry.name === 'reduce');
    const outcome = await start(driver?.file ?? '', ['--frobnicate'], pool.direct).done;
    expect(outcome.code).toBe(2);
    expect(outcome.stderr).toContain('usage: reduce');
  });
});
