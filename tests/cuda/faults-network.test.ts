// What lies between a program and its GPU breaks while the program does this or that. It ends with an error, or
// goes on with right results; it never hangs; and nothing of it stays on the server.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { activities, missing, startFaultPool, type Activity, type FaultPool } from './faultPool';
import type { Outcome, Running } from './programs';

/** Both sides' keepalive in these tests; a client takes its worker for lost after 3.5 of them. */
const keepaliveMs = 300;
/** Seconds of an activity that nothing but the fault ends. */
const long = 60;
/** A program that was told of a fault by then is not hanging. */
const boundSeconds = 15;

if (missing !== null) describe.skip(`faults (${missing} is not there; build the native tests: npm test)`);

describe.skipIf(missing !== null)('with a fault between client and GPU', () => {
  let pool: FaultPool;
  beforeAll(async () => {
    pool = await startFaultPool(keepaliveMs);
  });
  afterAll(() => pool?.stop());

  async function breaks(activity: Activity, fault: (session: { pid: number }) => Promise<void>) {
    // An idle program and one in a callback look for the fault at their end only.
    const seconds = activity === 'idle' || activity === 'callback' ? 3 : long;
    const running = await pool.begin(activity, seconds);
    const session = await pool.events.sessionOf(running.pid);
    await fault(session);
    expectError(await within(running));
    return session;
  }

  it.each(activities)('a killed session process is an error (%s)', async (activity) => {
    const session = await breaks(activity, async ({ pid }) => void process.kill(pid, 'SIGKILL'));
    expect(await pool.events.endOf(session.id)).toMatchObject({ how: 'killed' });
    await pool.events.idle();
  });

  it.each(activities)('a cut network is an error (%s)', async (activity) => {
    const session = await breaks(activity, () => pool.relay.cut());
    await pool.events.endOf(session.id);
    await pool.events.idle();
  });

  it.each(activities)('a network that forwards nothing any more is an error (%s)', async (activity) => {
    const session = await breaks(activity, () => pool.relay.stall());
    await pool.relay.resume();
    await pool.events.endOf(session.id);
    await pool.events.idle();
  });

  it('a worker gives up a client that it does not hear of for long', { timeout: 60_000 }, async () => {
    const running = await pool.begin('idle', long);
    const session = await pool.events.sessionOf(running.pid);
    await pool.relay.stall();
    try {
      await pool.events.endOf(session.id, 90 * keepaliveMs + 10_000);
    } finally {
      await pool.relay.resume();
      running.kill('SIGKILL');
      await running.done;
    }
  });

  it.each(activities)('a stopped client goes on (%s)', async (activity) => {
    const running = await pool.begin(activity, 1);
    await stopFor(running, 6 * keepaliveMs);
    expect(await within(running)).toMatchObject({ code: 0 });
    await pool.events.idle();
  });

  it('an illegal address ends that context and nothing else', async () => {
    const other = await pool.begin('launch', 2);
    const outcome = await within(await pool.begin('illegal', 1));
    expect(outcome.stdout).toContain('error CUDA_ERROR_ILLEGAL_ADDRESS');
    expect(await within(other)).toMatchObject({ code: 0 });
    expect(await within(await pool.begin('copy_back', 0.2))).toMatchObject({ code: 0 });
    await pool.events.idle();
  });
});

describe.skipIf(missing !== null)('with a server that goes', () => {
  it.each(activities)('a rebooted server is an error, and the next program runs (%s)', async (activity) => {
    const pool = await startFaultPool(keepaliveMs);
    try {
      const seconds = activity === 'idle' || activity === 'callback' ? 3 : long;
      const running = await pool.begin(activity, seconds);
      await pool.reboot();
      expectError(await within(running));
      expect(await within(await pool.begin(activity, 0.2))).toMatchObject({ code: 0 });
      await pool.events.idle();
    } finally {
      await pool.stop();
    }
  });
});

describe.skipIf(missing !== null)('with the keepalive that is in use', () => {
  it(
    'a client that is stopped for a minute in the middle of copies goes on',
    { timeout: 120_000 },
    async () => {
      const pool = await startFaultPool(null);
      try {
        const running = await pool.begin('copy_back', 1);
        await stopFor(running, 60_000);
        expect(await within(running)).toMatchObject({ code: 0 });
      } finally {
        await pool.stop();
      }
    },
  );
});

/** The wait is what is tested: a process stands still for that long. */
async function stopFor(running: Running, ms: number): Promise<void> {
  running.kill('SIGSTOP');
  await new Promise((resolve) => setTimeout(resolve, ms));
  running.kill('SIGCONT');
}

async function within(running: Running): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      running.kill('SIGKILL');
      reject(new Error(`the program hangs: it has not ended within ${boundSeconds} s`));
    }, boundSeconds * 1000);
  });
  try {
    return await Promise.race([running.done, late]);
  } finally {
    clearTimeout(timer);
  }
}

function expectError(outcome: Outcome): void {
  expect(outcome, outcome.stderr).toMatchObject({ code: 3 });
  expect(outcome.stdout).toMatch(/^error CUDA_ERROR_\w+$/m);
}
