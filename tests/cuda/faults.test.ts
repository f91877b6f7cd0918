// What a program and the pool see when an allocation is revoked, a client is
// killed, or more memory is asked for than was granted.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { programs, start, type Name, type Program } from './programs';
import { grantOne, startPool, type TestPool } from './worker';

const mib = 2 ** 20;
let pool: TestPool;

beforeAll(async () => {
  pool = await startPool();
});
afterAll(() => pool?.stop());

function driverSample(name: Name): Program {
  const found = programs.find((entry) => entry.form === 'driver' && entry.name === name);
  if (found === undefined || found.missing !== null) throw new Error(found?.missing ?? `no sample ${name}`);
  return found;
}

const runtimeForms = programs.filter((entry) => entry.name === 'matrix_mul' && entry.missing === null);

describe('revocation', () => {
  it.each(runtimeForms.map((entry) => [entry.form, entry.file] as const))(
    'ends a running program (%s) with a CUDA error and one sentence within 2 seconds',
    async (_form, file) => {
      const { grant, environment } = await grantOne(pool, null);
      const running = start(file, ['--size', '64', '--seconds', '60'], environment);
      await running.printed('iteration 1 ');
      const session = await pool.events.sessionOf(running.pid);

      const revokedAt = performance.now();
      const ended = pool.worker.control.end(grant.allocation, 'revoked by admin', 0);
      const outcome = await running.done;
      expect(performance.now() - revokedAt).toBeLessThan(2000);
      await ended;

      expect(outcome.code).toBe(1);
      expect(outcome.stderr).toMatch(/matrix_mul: .+ failed: \w+ \(\d+\)/);
      const sentences = outcome.stderr.split('\n').filter((line) => /^sluice: /.test(line));
      expect(sentences, outcome.stderr).toHaveLength(1);
      expect(sentences[0]).toContain('revoked by admin');
      expect(await pool.events.endOf(session.id)).toMatchObject({ how: 'revoked' });
    },
  );

  it('leaves nothing to connect to', async () => {
    const { grant, environment } = await grantOne(pool, null);
    await pool.worker.control.end(grant.allocation, 'revoked by admin', 0);
    const outcome = await start(driverSample('reduce').file, [], environment).done;
    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toContain('is not valid on this server');
  });

  it('does not touch another allocation', async () => {
    const first = await grantOne(pool, 1024);
    const second = await grantOne(pool, 1024);
    const running = start(
      driverSample('matrix_mul').file,
      ['--size', '64', '--seconds', '3'],
      second.environment,
    );
    await running.printed('iteration 1 ');
    await pool.worker.control.end(first.grant.allocation, 'revoked by admin', 0);
    const outcome = await running.done;
    expect(outcome, outcome.stderr).toMatchObject({ code: 0 });
  });
});

describe('a killed session process', () => {
  it('ends the program with a CUDA error and one sentence instead of a hang', async () => {
    const { environment } = await grantOne(pool, 512);
    const running = start(driverSample('matrix_mul').file, ['--size', '64', '--seconds', '60'], environment);
    await running.printed('iteration 1 ');
    const session = await pool.events.sessionOf(running.pid);
    process.kill(session.pid, 'SIGKILL');
    const outcome = await running.done;
    expect(outcome.seconds).toBeLessThan(30);
    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toMatch(/matrix_mul: .+ failed: \w+ \(\d+\)/);
    expect(outcome.stderr.split('\n').filter((line) => /^sluice: /.test(line))).toHaveLength(1);
    expect(await pool.events.endOf(session.id)).toMatchObject({ how: 'killed' });
  });
});

describe('a killed client', () => {
  it('gives its memory back', async () => {
    const { environment } = await grantOne(pool, null);
    const running = start(
      driverSample('saxpy_bandwidth').file,
      ['--size', '64', '--seconds', '60'],
      environment,
    );
    await running.printed('iteration 1 ');
    const session = await pool.events.sessionOf(running.pid);
    const stats = await pool.events.statsOf(
      session.id,
      (entry) => (entry.gpus[0]?.usedBytes ?? 0) >= 64 * mib && entry.launches > 0,
    );
    expect(stats.launches).toBeGreaterThan(0);

    running.kill('SIGKILL');
    await running.done;
    const end = await pool.events.endOf(session.id);
    expect(end.peakBytes).toBeGreaterThanOrEqual(64 * mib);
    await pool.events.idle();

    const query = await start(driverSample('device_query').file, [], pool.direct).done;
    const [, total] = /^ {2}Memory +(\d+) MiB$/m.exec(query.stdout) ?? [];
    const [, free] = /^ {2}Free memory +(\d+) MiB$/m.exec(query.stdout) ?? [];
    expect(Number(total) - Number(free)).toBeLessThan(64);
  });
});

describe('the memory limit', () => {
  it('is what the program sees as the memory of its GPU', async () => {
    const { environment } = await grantOne(pool, 300);
    const query = await start(driverSample('device_query').file, [], environment).done;
    expect(query.code, query.stderr).toBe(0);
    expect(query.stdout).toMatch(/^ {2}Memory +300 MiB$/m);
  });

  it('gives CUDA_ERROR_OUT_OF_MEMORY beyond it and lets everything below through', async () => {
    const { environment } = await grantOne(pool, 128);
    const saxpy = driverSample('saxpy_bandwidth').file;
    const over = await start(saxpy, ['--size', '200'], environment).done;
    expect(over.code).toBe(1);
    expect(over.stderr).toContain('CUDA_ERROR_OUT_OF_MEMORY');
    const below = await start(saxpy, ['--size', '64'], environment).done;
    expect(below, below.stderr).toMatchObject({ code: 0 });
  });

  it('holds for all processes of an allocation together', async () => {
    const { environment } = await grantOne(pool, 128);
    const saxpy = driverSample('saxpy_bandwidth').file;
    const first = start(saxpy, ['--size', '80', '--seconds', '60'], environment);
    await first.printed('iteration 1 ');
    const second = await start(saxpy, ['--size', '80'], environment).done;
    expect(second.code).toBe(1);
    expect(second.stderr).toContain('CUDA_ERROR_OUT_OF_MEMORY');
    first.kill('SIGKILL');
    await first.done;
  });
});
