// A whole pool for tests: the control plane, an agent, its worker and software
// GPUs, as real processes on free ports with their state in a temporary folder.
import { execa, type Options, type ResultPromise } from 'execa';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleForTests, projectRoot } from './bundles';
import { WatchedProcess } from './processes';

export interface PoolOptions {
  /** SLUICE_SOFTGPU of the agent. Default: two GPUs of 8 GiB. */
  readonly gpus?: string;
  /** Serve the dashboard; needs `npm run build`. Default: false. */
  readonly ui?: boolean;
  /** false: only the control plane. Default: true. */
  readonly agent?: boolean;
  /** More variables for the control plane and the agent. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Pool {
  readonly url: string;
  readonly adminEmail: string;
  readonly adminPassword: string;
  /** API token of the first administrator. */
  readonly token: string;
  /** The environment in which the command line finds this pool. */
  readonly env: NodeJS.ProcessEnv;
  /** Runs `sluice`; does not reject when it fails. */
  sluice(args: readonly string[], options?: Options): ResultPromise<Options & { reject: false }>;
  /** pid of the agent. */
  agentPid(): number;
  /** pid of the worker's listener. */
  workerPid(): number;
  /** What the control plane and the agent have logged, for the message of a failing test. */
  output(): string;
  killServer(): Promise<void>;
  /** Starts the control plane again on the same port and state, and waits until the agent is back. */
  restartServer(): Promise<void>;
  /** kill -9; the worker and its programs stay. */
  killAgent(): Promise<void>;
  startAgent(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a pool and waits until its agent is connected. */
export async function startPool(options: PoolOptions = {}): Promise<Pool> {
  const bundles = await bundleForTests();
  const folder = mkdtempSync(join(tmpdir(), 'sluice-pool-'));
  const [port, dataPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const dataDir = join(folder, 'data');
  const credentials = join(folder, 'credentials.json');
  const base: NodeJS.ProcessEnv = {
    ...cleanEnvironment(),
    ...options.env,
    SLUICE_ROOT: projectRoot,
    SLUICE_NATIVE_DIR: process.env.SLUICE_NATIVE_DIR ?? join(projectRoot, 'native/build'),
    SLUICE_CREDENTIALS: credentials,
    XDG_STATE_HOME: join(folder, 'state'),
  };
  const serverEnv: NodeJS.ProcessEnv = {
    ...base,
    NODE_ENV: 'production',
    SLUICE_HOST: '127.0.0.1',
    SLUICE_PORT: String(port),
    SLUICE_DATA_DIR: dataDir,
    SLUICE_UI: options.ui === true ? 'on' : 'off',
    SLUICE_WRITE_CREDENTIALS: '1',
  };
  const agentEnv: NodeJS.ProcessEnv = {
    ...base,
    SLUICE_URL: url,
    SLUICE_HOST: '127.0.0.1',
    SLUICE_DATA_PORT: String(dataPort),
    SLUICE_SOFTGPU: options.gpus ?? '2x(memory=8GiB,cc=10.0,sms=16)',
  };
  const agentArguments = [
    'agent',
    '--data-dir',
    join(folder, 'agent'),
    '--token-file',
    join(dataDir, 'agent-token'),
  ];

  let server: WatchedProcess | null = null;
  let agent: WatchedProcess | null = null;
  const startServer = async () => {
    server = WatchedProcess.start('the control plane', process.execPath, [bundles.server], serverEnv);
    await server.line(/^ready (\S+)/);
  };
  const startAgent = async () => {
    agent = WatchedProcess.start(
      'the agent',
      process.execPath,
      [bundles.sluice, ...agentArguments],
      agentEnv,
    );
    await agent.line(/^agent connected/);
  };
  const stop = async () => {
    await agent?.end('SIGTERM');
    await server?.end('SIGTERM');
    endLeftWorker(join(folder, 'agent'));
    rmSync(folder, { recursive: true, force: true });
  };

  try {
    await startServer();
    if (options.agent !== false) await startAgent();
    const token = readToken(credentials);
    const env: NodeJS.ProcessEnv = { ...base, SLUICE_URL: url, SLUICE_TOKEN: token };
    return {
      url,
      adminEmail: 'admin@sluice.local',
      adminPassword: readFileSync(join(dataDir, 'admin-password'), 'utf8').trim(),
      token,
      env,
      sluice: (args, more = {}) =>
        execa(process.execPath, [bundles.sluice, ...args], { env, extendEnv: false, ...more, reject: false }),
      agentPid: () => agent?.pid ?? 0,
      workerPid: () => leftWorker(join(folder, 'agent'))?.pid ?? 0,
      output: () => `${server?.output ?? ''}\n${agent?.output ?? ''}`,
      killServer: async () => server?.end('SIGKILL'),
      restartServer: async () => {
        const back = agent === null ? null : agent.nextLine(/"msg":"connected to the server"/);
        await server?.end('SIGKILL');
        await startServer();
        await back;
      },
      killAgent: async () => agent?.end('SIGKILL'),
      startAgent,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A port that nothing listens on now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(address !== null && typeof address === 'object' ? address.port : 0));
    });
  });
}

/** The caller's environment without settings of a pool that he uses otherwise. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !name.startsWith('SLUICE_') && !/^(VITEST|NODE_OPTIONS)/.test(name),
    ),
  ) as NodeJS.ProcessEnv;
}

function readToken(credentials: string): string {
  const { token } = JSON.parse(readFileSync(credentials, 'utf8')) as { token: string };
  return token;
}

/** A worker outlives an agent that was killed; after the test it must not stay. */
function endLeftWorker(agentDir: string): void {
  const worker = leftWorker(agentDir);
  if (worker !== null) process.kill(worker.pid, 'SIGKILL');
}

/** The worker that the agent with this folder started; null when it has ended. */
function leftWorker(agentDir: string): { pid: number } | null {
  try {
    const { pid } = JSON.parse(readFileSync(join(agentDir, 'worker.json'), 'utf8')) as { pid: number };
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(agentDir) ? { pid } : null;
  } catch {
    return null; // It ended with its agent, as it should, or never started.
  }
}
