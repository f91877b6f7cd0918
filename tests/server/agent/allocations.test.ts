import pino from 'pino';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Allocations } from '@/server/agent/allocations';
import { Sessions } from '@/server/agent/sessions';
import { WorkerControl } from '@/server/proxy/workerControl';
import type { AgentGrant, AgentToServer, GpuSample } from '@/protocol/control/agentMessages';
import { FakeWorker } from '../proxy/fakeWorker';

const uuid = 'GPU-a';
const end = { allocationId: 'a1', version: 4, reason: 'revoked', graceMs: 0 };

/** The server's end: what it is told, while it is there. */
class FakeServer extends EventEmitter<{ told: [AgentToServer] }> {
  readonly told: AgentToServer[] = [];
  here = true;

  readonly send = (message: AgentToServer): boolean => {
    if (!this.here) return false;
    this.told.push(message);
    this.emit('told', message);
    return true;
  };

  /** The next message of the type, or one that has come. */
  async message(type: AgentToServer['type']): Promise<AgentToServer> {
    for (;;) {
      const found = this.told.find((message) => message.type === type);
      if (found !== undefined) return found;
      await once(this, 'told');
    }
  }
}

let folder: string;
let path: string;
let worker: FakeWorker;
let control: WorkerControl;
let server: FakeServer;
let sessions: Sessions;
let samples: GpuSample[];
/** Set: NVML answers when this does. */
let pending: Promise<GpuSample[]> | null;
let allocations: Allocations;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-allocations-'));
  path = join(folder, 'worker.sock');
  worker = new FakeWorker(path);
  control = await WorkerControl.connect(path);
  server = new FakeServer();
  sessions = new Sessions();
  samples = [sample([])];
  pending = null;
  allocations = new Allocations({
    worker: async () =>
      control.connected ? control : await WorkerControl.connect(path).then((next) => (control = next)),
    samples: async () => pending ?? samples,
    send: server.send,
    publish: () => undefined,
    sessions,
    uuids: [uuid],
    log: pino({ level: 'silent' }),
  });
});
afterEach(() => {
  control.close();
  worker.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('a grant', () => {
  test('is given to the worker in bytes, then reported', async () => {
    allocations.onGrant(grant('a1', 3));
    expect(await server.message('grantReady')).toEqual({
      type: 'grantReady',
      allocationId: 'a1',
      version: 3,
    });
    expect(worker.told).toEqual([
      {
        type: 'grant',
        grant: {
          allocation: 'a1',
          storedKey: 'ab'.repeat(32),
          gpus: [{ uuid, memoryBytes: 2048 * 1024 * 1024 }],
        },
      },
    ]);
  });

  test('that the worker refuses is reported with its reason and forgotten', async () => {
    worker.answer = () => ({
      type: 'grant_failed',
      allocation: 'a1',
      message: 'The GPU GPU-a is not on this server.',
    });
    allocations.onGrant(grant('a1', 3));
    expect(await server.message('grantFailed')).toMatchObject({
      reason: 'The GPU GPU-a is not on this server.',
      version: 3,
    });
    expect(allocations.ids).toEqual([]);
  });
});

describe('an end', () => {
  test('is reported with the proof', async () => {
    allocations.onGrant(grant('a1', 3));
    await server.message('grantReady');
    allocations.onEnd(end);
    expect(await server.message('released')).toEqual({
      type: 'released',
      allocationId: 'a1',
      version: 4,
      gpus: [{ uuid, processesLeft: 0, memoryUsedMibBefore: 0, memoryUsedMibAfter: 0 }],
    });
    expect(allocations.ids).toEqual([]);
  });

  test('waits until the process is off the GPU', async () => {
    allocations.onGrant(grant('a1', 3));
    sessions.started({
      id: 's1',
      allocation: 'a1',
      pid: 77,
      client: { command: 'x', user: 'u', host: 'h', pid: 1, address: null },
      startedMs: 0,
    });
    samples = [sample([77])];
    allocations.onEnd(end);
    // The worker has answered; NVML still shows the process. Reports are only made from what it shows later.
    setTimeout(() => (samples = [sample([])]), 300);
    await server.message('released');
    expect(samples).toEqual([sample([])]);
  });

  test('of something that nobody here knows is proved for all GPUs', async () => {
    allocations.onEnd({ ...end, allocationId: 'unknown' });
    expect(await server.message('released')).toMatchObject({ allocationId: 'unknown', gpus: [{ uuid }] });
  });

  test('goes on with the next worker when one dies', async () => {
    worker.answer = () => {
      worker.close();
      rmSync(path, { force: true });
      worker = new FakeWorker(path);
      return null;
    };
    allocations.onEnd(end);
    expect(await server.message('released')).toMatchObject({ allocationId: 'a1' });
    expect(worker.told).toMatchObject([{ type: 'end', allocation: 'a1' }]);
  });

  test('that is told again while it runs is one end, with the newest version', async () => {
    worker.answer = () => null;
    allocations.onEnd(end);
    allocations.onEnd({ ...end, version: 6 });
    while (worker.told.length === 0) await new Promise(setImmediate);
    worker.say({ type: 'ended', allocation: 'a1' });
    expect(await server.message('released')).toMatchObject({ version: 6 });
    expect(worker.told).toHaveLength(1);
  });
});

test('programs are ended also while NVML hangs', async () => {
  let answer: (samples: GpuSample[]) => void = () => undefined;
  pending = new Promise((resolve) => (answer = resolve));
  allocations.onEnd(end);
  while (worker.told.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(worker.told).toMatchObject([{ type: 'end', allocation: 'a1' }]);
  answer(samples);
  expect(await server.message('released')).toMatchObject({ gpus: [{ uuid, memoryUsedMibBefore: null }] });
});

test('a shorter grace is passed on while an end is under way', async () => {
  worker.answer = () => null;
  allocations.onEnd({ ...end, graceMs: 60_000 });
  while (worker.told.length === 0) await new Promise(setImmediate);
  allocations.onEnd({ ...end, version: 5, graceMs: 100 });
  while (worker.told.length < 2) await new Promise(setImmediate);
  expect(worker.told[1]).toEqual({ type: 'end', allocation: 'a1', reason: 'revoked', graceMs: 100 });
  worker.say({ type: 'ended', allocation: 'a1' });
  expect(await server.message('released')).toMatchObject({ version: 5 });
});

describe('the full truth of the server', () => {
  test('ends what it does not name, also what only the worker knows', async () => {
    allocations.onGrant(grant('a1', 3));
    await server.message('grantReady');
    allocations.onWorkerUp(['a1', 'from-a-former-agent']);
    expect(allocations.ids).toEqual(['a1', 'from-a-former-agent']);
    allocations.onGrants([grant('a1', 3)]);
    expect(await server.message('released')).toMatchObject({ allocationId: 'from-a-former-agent' });
    expect(allocations.ids).toEqual(['a1']);
  });

  test('is followed by what could not be told before', async () => {
    server.here = false;
    allocations.onEnd(end);
    while (allocations.ids.length > 0) await new Promise(setImmediate);
    server.here = true;
    allocations.onGrants([]);
    expect(await server.message('released')).toMatchObject({ allocationId: 'a1', version: 4 });
  });
});

function grant(allocationId: string, version: number): AgentGrant {
  return { allocationId, version, storedKey: 'ab'.repeat(32), gpus: [{ uuid, memoryMib: 2048 }] };
}

function sample(pids: number[]): GpuSample {
  return {
    uuid,
    memoryTotalMib: 8192,
    memoryUsedMib: pids.length * 100,
    memoryFreeMib: null,
    memoryReservedMib: null,
    utilizationPercent: null,
    powerWatts: null,
    temperatureCelsius: null,
    processes: pids.map((pid) => ({ pid, name: null, usedMib: 100 })),
  };
}
