// The start sequence of a runtime library, step by step, on the client library and on the software GPU itself.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readReport, runDoctor } from '../../server/proxy/doctor';
import { native, start } from './programs';
import { grantOne, startPool, type TestPool } from './worker';

let pool: TestPool;

beforeAll(async () => {
  pool = await startPool();
});
afterAll(() => pool?.stop());

describe('sluice-doctor', () => {
  it('finds every step well through the proxy, and measures', async () => {
    const { grant } = await grantOne(pool, 256);
    const report = await runDoctor(native, grant);
    expect(report.findings.filter(({ severity }) => severity !== 'ok')).toEqual([]);
    expect(report.findings.map(({ id }) => id)).toContain('doctor.integrity');
    expect(report.findings.at(-1)?.id).toBe('doctor.image-cache');
    expect(report.driverVersion).toBe(13000);
    expect(report.values.roundTripMicroseconds).toBeGreaterThan(0);
    expect(report.values.bytesPerSecondToDevice).toBeGreaterThan(1e6);
    expect(report.values.servers).toMatchObject([
      { address: pool.worker.address, imageCache: { kept: true } },
    ]);
  });

  it('says which server cannot be used, and what that means for the driver', async () => {
    const { grant } = await grantOne(pool, 256);
    const report = await runDoctor(native, { ...grant, secret: '0'.repeat(64) });
    const bad = report.findings.filter(({ severity }) => severity === 'fatal').map(({ id }) => id);
    expect(bad).toEqual([`doctor.server-${pool.worker.address}`, 'doctor.initialize']);
  });

  it('tries the driver of a GPU host too, where there is no grant', async () => {
    const outcome = await start(native.doctorBinary, [], pool.direct).done;
    const bad = readReport(outcome.stdout).findings.filter(({ severity }) => severity !== 'ok');
    expect(bad.map(({ id }) => id)).toEqual(['doctor.grant']);
    expect(outcome.code).toBe(1);
  });
});
