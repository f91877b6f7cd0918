import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let dataDir: string;
let children: ChildProcess[];
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'sluice-start-'));
  children = [];
});
afterEach(async () => {
  for (const child of children.filter(
    ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
  )) {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  rmSync(dataDir, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** What `npm start` runs, on ports and folders of its own; `line` waits for output that matches. */
function npmStart(ports: { port: number; dataPort: number }) {
  const child = spawn(process.execPath, ['server/setup/start.mjs'], {
    env: {
      ...process.env,
      SLUICE_DATA_DIR: dataDir,
      SLUICE_PORT: String(ports.port),
      SLUICE_DATA_PORT: String(ports.dataPort),
      SLUICE_CREDENTIALS: join(dataDir, 'user/credentials.json'),
      SLUICE_UI: 'off',
    },
  });
  children.push(child);
  const lines: string[] = [];
  const waiting: { pattern: RegExp; settle: (line: string) => void }[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      for (const entry of waiting.filter(({ pattern }) => pattern.test(line))) entry.settle(line);
    });
  }
  const line = (pattern: RegExp) => {
    const known = lines.find((candidate) => pattern.test(candidate));
    if (known !== undefined) return Promise.resolve(known);
    return new Promise<string>((settle) => waiting.push({ pattern, settle }));
  };
  return { child, line, lines };
}

describe('npm start', () => {
  it('starts a killed control plane again and stops everything on Ctrl-C', async () => {
    const port = await freePort();
    const started = npmStart({ port, dataPort: await freePort() });
    await started.line(/^ready http/);
    expect(JSON.parse(readFileSync(join(dataDir, 'user/credentials.json'), 'utf8'))).toMatchObject({
      url: `http://127.0.0.1:${port}`,
    });

    const { pid } = JSON.parse(readFileSync(join(dataDir, 'server.lock'), 'utf8')) as { pid: number };
    const agentBack = started
      .line(/"part":"agent".*not connected/)
      .then(() => started.line(/connected to the server/));
    process.kill(pid, 'SIGKILL');
    await started.line(/control plane ended unexpectedly \(SIGKILL\)\. It is started again\./);
    await agentBack;
    await expect.poll(() => answers(port), { timeout: 30_000 }).toBe(true);

    started.child.kill('SIGINT');
    expect(await once(started.child, 'exit')).toEqual([0, null]);
    expect(await answers(port)).toBe(false);
  });

  it('names a port that is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const started = npmStart({ port, dataPort: await freePort() });
    expect(await once(started.child, 'exit')).toEqual([1, null]);
    expect(started.lines.join('\n')).toContain(`Port ${port} is in use`);
    other.close();
  });
});

async function answers(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
}
