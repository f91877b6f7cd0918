import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { GrantRefusedError, WorkerControl, WorkerGoneError } from '@/server/proxy/workerControl';
import { FakeWorker } from './fakeWorker';

const grant = { allocation: 'a1', storedKey: '0'.repeat(64), gpus: [{ uuid: 'GPU-a', memoryBytes: null }] };
const session = {
  id: 's1',
  allocation: 'a1',
  pid: 7,
  client: { command: 'matrix_mul', user: 'ann', host: 'h', pid: 9, address: '10.0.0.1:5' },
  startedMs: 1,
};

let folder: string;
let path: string;
let worker: FakeWorker;
let control: WorkerControl;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-control-'));
  path = join(folder, 'worker.sock');
  worker = new FakeWorker(path);
  control = await WorkerControl.connect(path);
});
afterEach(() => {
  control.close();
  worker.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('requests', () => {
  test('a grant is answered', async () => {
    await control.grant(grant);
    expect(worker.told).toEqual([{ type: 'grant', grant }]);
  });

  test('a refused grant says why', async () => {
    worker.answer = () => ({
      type: 'grant_failed',
      allocation: 'a1',
      message: 'The GPU GPU-a is not on this server.',
    });
    await expect(control.grant(grant)).rejects.toThrow(GrantRefusedError);
  });

  test('an end is answered when nothing is left', async () => {
    await control.end('a1', 'revoked', 500);
    expect(worker.told).toEqual([{ type: 'end', allocation: 'a1', reason: 'revoked', graceMs: 500 }]);
  });

  test('a worker that dies answers nobody for ever', async () => {
    worker.answer = () => null;
    const waiting = control.end('a1', 'revoked', 0);
    worker.drop();
    await expect(waiting).rejects.toThrow(WorkerGoneError);
    await expect(control.grant(grant)).rejects.toThrow(WorkerGoneError);
  });

  test('shutdown resolves when the worker has closed', async () => {
    await control.shutdown();
    expect(control.connected).toBe(false);
  });
});

describe('events', () => {
  test('of sessions', async () => {
    const started = once(control, 'sessionStarted');
    worker.say({ type: 'session_started', session });
    expect((await started)[0]).toEqual(session);
    const ended = once(control, 'sessionEnded');
    worker.say({ type: 'session_ended', id: 's1', allocation: 'a1', how: 'killed', detail: null });
    expect((await ended)[0]).toMatchObject({ id: 's1', how: 'killed', launches: null });
  });

  test.each([
    ['no JSON', 'nonsense', /not JSON/],
    ['an unknown type', '{"type":"dance"}', /type/],
    ['a wrong field', '{"type":"session_ended","id":"s1","allocation":"a1","how":"bored"}', /how/],
  ])('%s is reported and does not end the connection', async (_, line, problem) => {
    const bad = once(control, 'badLine');
    worker.say(line);
    expect((await bad)[0]).toMatch(problem);
    await control.grant(grant);
  });
});

describe('connecting', () => {
  test('fails when nobody listens', async () => {
    await expect(WorkerControl.connect(join(folder, 'other.sock'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('fails when somebody else listens', async () => {
    worker.ready = { type: 'hello' };
    await expect(WorkerControl.connect(path)).rejects.toThrow('not that of a Sluice worker');
  });
});
