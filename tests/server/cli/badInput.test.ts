// The command line as a process, where no pool is needed: what it says and how it exits.
import { execa } from 'execa';
import { createServer, type RequestListener, type Server } from 'node:http';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundleForTests } from '../../integration/bundles';

let folder: string;
let sluice: string;

beforeAll(async () => {
  sluice = (await bundleForTests()).sluice;
  folder = mkdtempSync(join(tmpdir(), 'sluice-cli-'));
  // Only looked for, never loaded, before an allocation.
  mkdirSync(join(folder, 'native/lib/client'), { recursive: true });
  writeFileSync(join(folder, 'native/lib/client/libcuda.so.1'), '');
  writeFileSync(join(folder, 'plain'), 'text');
  chmodSync(join(folder, 'plain'), 0o644);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(words: string[], env: Record<string, string> = {}) {
  return execa(process.execPath, [sluice, ...words], {
    reject: false,
    extendEnv: false,
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      SLUICE_NATIVE_DIR: join(folder, 'native'),
      SLUICE_URL: 'http://127.0.0.1:1',
      SLUICE_TOKEN: 'token',
      ...env,
    },
  });
}

describe('one sentence and an exit status', () => {
  test.each<[string, string[], number, RegExp, Record<string, string>?]>([
    ['no program', ['run'], 2, /missing required argument 'program'/],
    ['an unknown command', ['rnu'], 2, /unknown command 'rnu'/],
    ['a number of GPUs that is none', ['run', '-n', 'x', 'true'], 2, /whole number of GPUs/],
    ['memory and share together', ['run', '-m', '1', '-p', '1', 'true'], 2, /cannot be used with/],
    [
      'a program that is not there',
      ['run', '--', 'no-such-program'],
      127,
      /"no-such-program" was not found.*nothing was allocated/,
    ],
    ['a program that may not be executed', ['run', './plain'], 126, /may not be executed/],
    ['a folder as program', ['run', './native'], 126, /is a folder/],
    ['the same for client', ['client', '--', 'no-such-program'], 127, /was not found/],
    ['no server there', ['run', 'true'], 1, /http:\/\/127\.0\.0\.1:1 does not answer.*npm start.*SLUICE_URL/],
    ['no server for a list', ['list_gpus'], 1, /does not answer/],
    ['no server for a list, spelled with a hyphen', ['list-gpus'], 1, /does not answer/],
    ['a URL that is none', ['list_gpus'], 1, /SLUICE_URL/, { SLUICE_URL: 'pool' }],
    ['no token', ['list_gpus'], 1, /no token for .*sluice login/, { SLUICE_TOKEN: '' }],
    ['nothing held', ['release_gpus'], 1, /No allocation is held.*request_gpus/],
    ['a held file that is something else', ['release_gpus', '-f', 'plain'], 1, /does not hold an allocation/],
    [
      'no client libraries',
      ['run', 'true'],
      1,
      /client libraries are not built.*build:native/,
      { SLUICE_NATIVE_DIR: '/nowhere' },
    ],
    ['an agent without the worker', ['agent', '--data-dir', 'a'], 1, /worker is not built/],
    [
      'an agent without a token',
      ['agent'],
      1,
      /agent has no token.*tokens create --agent/,
      { SLUICE_TOKEN: '' },
    ],
  ])('%s', async (_, words, exitCode, message, env) => {
    const result = await run(words, env);
    expect(result.stderr).toMatch(message);
    expect(result.stderr).toMatch(/^sluice: /);
    expect(result.stderr.trim().split('\n')).toHaveLength(1);
    expect(result.exitCode).toBe(exitCode);
    expect(result.stdout).toBe('');
  });
});

test('the stored token is not sent to another server than it was stored for', async () => {
  writeFileSync(
    join(folder, 'credentials.json'),
    JSON.stringify({ url: 'http://127.0.0.1:2', token: 'secret' }),
  );
  const env = { SLUICE_CREDENTIALS: join(folder, 'credentials.json'), SLUICE_TOKEN: '' };
  expect((await run(['list_gpus'], env)).stderr).toMatch(
    /no token for the Sluice server at http:\/\/127.0.0.1:1/,
  );
  expect((await run(['list_gpus'], { ...env, SLUICE_URL: '' })).stderr).toMatch(
    /http:\/\/127.0.0.1:2 does not answer/,
  );
});

test('a held allocation of another server is not asked for here', async () => {
  const grant = { version: 1, allocation: 'al-1', secret: 's', tls: true, servers: [] };
  const held = { url: 'http://10.0.0.1:3000', allocation: 'al-1', grant };
  writeFileSync(join(folder, 'held.json'), JSON.stringify(held));
  for (const words of [
    ['release_gpus', '-f', 'held.json'],
    ['client', '-f', 'held.json', 'true'],
  ]) {
    expect((await run(words)).stderr).toMatch(/belongs to .*10\.0\.0\.1:3000.*Set SLUICE_URL/);
  }
});

test('help and version', async () => {
  expect((await run(['version'])).stdout).toMatch(/^sluice \d+\.\d+\.\d+$/);
  expect((await run(['run', '--help'])).stdout).toMatch(/-m, --memory <MiB>[\s\S]*Exit status/);
  expect((await run(['--help'])).stdout).not.toContain('nvml-sampler');
});

// Answers that a real control plane of this version does not give.
describe('something else at SLUICE_URL', () => {
  let server: Server;
  let answer: RequestListener;
  let url: string;
  beforeAll(async () => {
    server = createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());

  test.each<[string, RequestListener, RegExp]>([
    [
      'a web site',
      (_, response) => response.setHeader('content-type', 'text/html').end('<html>'),
      /is not a Sluice server/,
    ],
    [
      'JSON that is not ours',
      (_, response) => response.setHeader('content-type', 'application/json').end('{"a":1}'),
      /^sluice: \S/,
    ],
    ['a connection that breaks', (request) => request.socket.destroy(), /does not answer/],
  ])('%s', async (_, listener, message) => {
    answer = listener;
    const result = await run(['list_gpus'], { SLUICE_URL: url });
    expect(result).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(message) });
  });
});
