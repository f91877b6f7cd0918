// A grant of GPUs on two servers: one device list, work and copies across, and what becomes of it when one of
// the servers is lost.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { native, programs, runWithStats, start } from './programs';
import { startPool, type TestPool } from './worker';

const twoDevices = join(native.workerBinary, '../../tests/driver/two_devices');

const sample = (name: string) =>
  programs.find((entry) => entry.form === 'driver' && entry.name === name)?.file ?? '';

let first: TestPool;
let second: TestPool;

beforeAll(async () => {
  [first, second] = await Promise.all([startPool(), startPool()]);
});
afterAll(() => Promise.all([first?.stop(), second?.stop()]));

const gpuOf = (pool: TestPool) => [{ uuid: pool.uuids[0] ?? '', memoryMib: null }];

const relays: Server[] = [];
afterAll(() => relays.forEach((relay) => relay.close()));

/** The address of a relay that lets one connection through and refuses all others, as a firewall would. */
async function oneWayRelay(target: string): Promise<string> {
  const [host = '', port = ''] = target.split(':');
  const relay = createServer((client) => {
    relay.close();
    const server = connect(Number(port), host);
    client.pipe(server).pipe(client);
    client.on('error', () => server.destroy());
    server.on('error', () => client.destroy());
  });
  relays.push(relay);
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  return `127.0.0.1:${(relay.address() as AddressInfo).port}`;
}

/** Variables of a program that has the first GPU of each server. */
async function onBoth() {
  const { grant } = await first.worker.grant(gpuOf(first));
  return (await second.worker.grant(gpuOf(second), grant)).environment;
}

describe('a program with GPUs on two servers', () => {
  it('has them in one list and works on both; copies go from server to server', async () => {
    const { outcome, stats } = await runWithStats(twoDevices, [], await onBoth());
    expect(outcome, outcome.stderr).toMatchObject({ code: 0, signal: null });
    expect(outcome.stdout).toContain('streams of two devices wait for each other');
    expect(outcome.stdout).toContain('memory of the other device is reached');
    // The program sends 24 MiB itself. Its copies between the devices would be seven times as much.
    expect(stats?.bytesSent).toBeLessThan(32 * 2 ** 20);
  });

  it('copies through itself when the servers do not reach each other', async () => {
    const { grant } = await first.worker.grant(gpuOf(first));
    const joined = await second.worker.grant(gpuOf(second), grant);
    const servers = await Promise.all(
      joined.grant.servers.map(async (server) => ({ ...server, address: await oneWayRelay(server.address) })),
    );
    const environment = { ...joined.environment, SLUICE_GRANT: JSON.stringify({ ...joined.grant, servers }) };
    const { outcome, stats } = await runWithStats(twoDevices, [], environment);
    expect(outcome, outcome.stderr).toMatchObject({ code: 0, signal: null });
    expect(outcome.stdout).toContain('streams of two devices wait for each other');
    expect(stats?.bytesSent).toBeGreaterThan(150 * 2 ** 20);
  });

  it.each([['first'], ['second']])(
    'ends with an error, not with wrong values, when the %s is lost',
    async (which) => {
      const [kept, lost] = await Promise.all([startPool(), startPool()]);
      try {
        const order = which === 'first' ? [lost, kept] : [kept, lost];
        const [one, other] = order as [TestPool, TestPool];
        const { grant } = await one.worker.grant(gpuOf(one));
        const { environment } = await other.worker.grant(gpuOf(other), grant);
        const program = start(twoDevices, ['for ever'], environment);
        await program.printed('streams of two devices wait for each other');
        lost.worker.child.kill('SIGKILL');
        const outcome = await program.done;
        expect(outcome.code).toBe(1);
        expect(outcome.stderr).toMatch(/The (connection to|session on) 127\.0\.0\.1:\d+ was (lost|ended)/);
        expect(outcome.stderr).toContain('returned CUDA_ERROR_DEVICE_UNAVAILABLE');
        await kept.events.idle();
      } finally {
        await Promise.all([kept.stop(), lost.stop()]);
      }
    },
  );

  it('sees those that CUDA_VISIBLE_DEVICES names, and connects to their servers only', async () => {
    const environment = await onBoth();
    const [theirs = ''] = second.uuids;
    const query = async (visible: string) => {
      const program = start(sample('device_query'), [], { ...environment, CUDA_VISIBLE_DEVICES: visible });
      const outcome = await program.done;
      return { ...outcome, uuids: [...outcome.stdout.matchAll(/GPU-[0-9a-f-]{36}/g)].map(([uuid]) => uuid) };
    };
    expect((await query('1,0')).uuids).toEqual([theirs, first.uuids[0]]);
    expect((await query(theirs.slice(0, 12))).uuids).toEqual([theirs]);
    const none = await query('');
    expect(none.code).toBe(1);
    expect(none.stderr).toContain('CUDA_ERROR_NO_DEVICE');

    const running = start(twoDevices, [], { ...environment, CUDA_VISIBLE_DEVICES: '1' });
    expect((await running.done).stderr).toContain('does not hold: count == 2');
    expect(second.events.hasSessionOf(running.pid)).toBe(true);
    expect(first.events.hasSessionOf(running.pid)).toBe(false);
  });
});
