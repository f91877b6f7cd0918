// The server as a process: one per data directory, one per port, sentences instead of stack traces, a clean end.
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createServerProcess, freePort, spawnServer, type ServerProcess } from './serverProcess';

let server: ServerProcess;
beforeAll(async () => {
  server = await createServerProcess();
  await server.start();
});
afterAll(() => server.stop());

async function endOf(env: Record<string, string>): Promise<{ code: number | null; errors: string }> {
  const child = spawnServer(env);
  let errors = '';
  child.stderr?.on('data', (data: Buffer) => (errors += data.toString()));
  await once(child, 'exit');
  return { code: child.exitCode, errors };
}

test('a second one on the same data directory says that the first runs', async () => {
  const { pid } = JSON.parse(readFileSync(path.join(server.dataDir, 'server.lock'), 'utf8')) as {
    pid: number;
  };
  const { code, errors } = await endOf({
    SLUICE_DATA_DIR: server.dataDir,
    SLUICE_PORT: String(await freePort()),
  });
  expect(code).toBe(1);
  expect(errors).toMatch(new RegExp(`^Sluice is already running on .* \\(pid ${pid}\\)\\.`));
});

test('a port in use is named, and nothing is left in the data directory', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const address = taken.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const dataDir = mkdtempSync(path.join(tmpdir(), 'sluice-port-'));
  const { code, errors } = await endOf({ SLUICE_DATA_DIR: dataDir, SLUICE_PORT: String(port) });
  expect(code).toBe(1);
  expect(errors).toMatch(new RegExp(`^Port ${port} is in use .*SLUICE_PORT`));
  rmSync(dataDir, { recursive: true });
  taken.close();
});

test.each([
  [{ SLUICE_PORT: 'many' }, /^The environment is not usable: SLUICE_PORT: /],
  [{ DATABASE_URL: 'mysql://x' }, /DATABASE_URL: must start with postgresql:/],
])('a wrong variable is named: %o', async (env, sentence) => {
  const { code, errors } = await endOf(env);
  expect(code).toBe(1);
  expect(errors).toMatch(sentence);
});

test('SIGTERM ends it with status 0 and gives the directory back', async () => {
  const stream = await fetch(`${server.url}/api/trpc/events.stream`, {
    headers: { authorization: `Bearer ${server.userToken()}` },
  });
  expect(stream.status).toBe(200);
  expect(await server.kill('SIGTERM')).toBe(0);
  await server.start();
});
