import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A control plane as a process of its own, to be killed. */
export interface ServerProcess {
  url: string;
  dataDir: string;
  agentToken(): string;
  userToken(): string;
  start(): Promise<void>;
  /** Resolves when the process is gone. */
  kill(signal: NodeJS.Signals): Promise<number | null>;
  stop(): Promise<void>;
}

export async function createServerProcess(): Promise<ServerProcess> {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'sluice-process-'));
  const port = await freePort();
  let child: ChildProcess | null = null;

  const server: ServerProcess = {
    url: `http://127.0.0.1:${port}`,
    dataDir,
    agentToken: () => readFileSync(path.join(dataDir, 'agent-token'), 'utf8'),
    userToken() {
      const value = JSON.parse(readFileSync(path.join(dataDir, 'credentials.json'), 'utf8')) as {
        token: string;
      };
      return value.token;
    },
    async start() {
      child = spawnServer({
        SLUICE_PORT: String(port),
        SLUICE_DATA_DIR: dataDir,
        SLUICE_CREDENTIALS: path.join(dataDir, 'credentials.json'),
      });
      await outputOf(child, /^ready (\S+)/m);
    },
    kill(signal) {
      const dying = child;
      return new Promise((resolve) => {
        if (!dying || dying.exitCode !== null || dying.signalCode !== null)
          return resolve(dying?.exitCode ?? null);
        dying.once('exit', resolve);
        dying.kill(signal);
      });
    },
    async stop() {
      await server.kill('SIGKILL');
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
  return server;
}

/** server/main.ts without the dashboard. */
export function spawnServer(env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, ['--import', 'tsx', 'server/main.ts'], {
    cwd: process.cwd(),
    env: { ...process.env, SLUICE_UI: 'off', SLUICE_WRITE_CREDENTIALS: '1', SLUICE_LOG: 'error', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Waits for a line on stdout. @throws with what the process said when it ends before. */
export function outputOf(child: ChildProcess, line: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let out = '';
    let errors = '';
    child.stdout?.on('data', (data: Buffer) => {
      out += data.toString();
      const match = line.exec(out);
      if (match) resolve(match[0]);
    });
    child.stderr?.on('data', (data: Buffer) => (errors += data.toString()));
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${errors}`)));
  });
}

export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return address.port;
}
