import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundleForTests } from '../../integration/bundles';
import { Sampler } from '@/server/agent/nvml/sampler';
import { buildFakeNvml } from './fakeNvml';

// The sampler starts the program that runs it again, so it is tested through the program: the hidden command
// answers over the channel that fork() makes.
let folder: string;
let sluice: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-sampler-'));
  sluice = (await bundleForTests()).sluice;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the NVML process', () => {
  test('answers with an inventory and with samples', async () => {
    const child = start(buildFakeNvml(folder, 'NEW'));
    expect(await ask(child, 1, 'inventory')).toMatchObject({
      id: 1,
      inventory: { driverVersion: '590.48.01' },
    });
    expect(await ask(child, 2, 'samples')).toMatchObject({
      id: 2,
      samples: [{ uuid: 'GPU-aaaa' }, { uuid: 'GPU-bbbb' }],
    });
    child.kill('SIGKILL');
  });

  test('says what is wrong with the library', async () => {
    const child = start(join(folder, 'missing.so'));
    expect(await ask(child, 1, 'inventory')).toMatchObject({
      id: 1,
      error: expect.stringContaining('missing.so'),
    });
    child.kill('SIGKILL');
  });

  test('ends when its agent is gone', async () => {
    const child = start(buildFakeNvml(folder, 'NEW'));
    await ask(child, 1, 'inventory');
    const exited = once(child, 'exit');
    child.disconnect();
    expect((await exited)[0]).toBe(0);
  });
});

describe('the agent, when NVML', () => {
  const sampler = (library: string, sampleTimeoutMs = 5000) =>
    new Sampler({ library, software: false, environment: {} }, { program: sluice, sampleTimeoutMs });

  test('hangs, is told so in time and asks a new process the next time', async () => {
    const hanging = sampler(buildFakeNvml(folder, 'HANG'), 500);
    expect((await hanging.inventory()).gpus).toHaveLength(2);
    await expect(hanging.samples()).rejects.toThrow('NVML did not answer within 0.5 s');
    expect((await hanging.inventory()).gpus).toHaveLength(2);
    hanging.stop();
  });

  test('crashes, asks a new process the next time', async () => {
    const asked = sampler(buildFakeNvml(folder, 'CRASH'));
    await asked.inventory();
    await expect(asked.samples()).rejects.toThrow('SIGSEGV');
    expect((await asked.inventory()).gpus).toHaveLength(2);
    asked.stop();
  });
});

function start(library: string): ChildProcess {
  return spawn(process.execPath, [sluice, 'nvml-sampler', library, 'hardware'], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
}

async function ask(child: ChildProcess, id: number, what: string): Promise<unknown> {
  const answer = once(child, 'message');
  child.send({ id, ask: what });
  return (await answer)[0];
}
