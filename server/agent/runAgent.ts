// `sluice agent`: puts the daemon together and runs it until it is told to stop.
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { getEnv, type Env } from '../env';
import { SluiceError } from '../errors';
import { createLog } from '../log';
import { ensureCertificate } from '../proxy/certificate';
import { nativePaths } from '../proxy/projectPaths';
import { recordedWorker } from '../proxy/workerProcess';
import { WorkerSupervisor } from '../proxy/workerSupervisor';
import { bindAddress } from './addresses';
import { Agent } from './agent';
import { chooseDriver } from './driver';
import { loadAgentId, takeDataDir } from './identity';

export interface AgentOptions {
  readonly version: string;
  /** Folder of its key, certificate and the worker's socket. */
  readonly dataDir: string | null;
  /** File that holds the token; read again at each connect. */
  readonly tokenFile: string | null;
  /** Leave the worker and its programs running when the agent stops. */
  readonly keepWorker: boolean;
}

/** Resolves when the agent was stopped by a signal. Throws SluiceError when it cannot start. */
export async function runAgent(options: AgentOptions): Promise<void> {
  const env = getEnv();
  const log = createLog('agent');
  const dataDir = resolve(options.dataDir ?? `${env.dataDir}/agent`);
  const readToken = tokenSource(env, options.tokenFile);
  const paths = nativePaths(env.nativeDir);
  if (!existsSync(paths.workerBinary)) {
    throw new SluiceError('NATIVE_MISSING', `The worker is not built: there is no ${paths.workerBinary}.`, {
      hint: 'Build it with `npm run build:native`.',
    });
  }
  await takeDataDir(dataDir);
  const bindHost = bindAddress(env.url, env.host);
  await needDataPort(dataDir, bindHost, env.dataPort);
  const driver = await chooseDriver(env, paths, dataDir);
  const certificate = await ensureCertificate(dataDir, hostname());
  const supervisor = new WorkerSupervisor(
    {
      binary: paths.workerBinary,
      listen: `${bindHost}:${env.dataPort}`,
      certificateFile: certificate.certificateFile,
      keyFile: certificate.keyFile,
      tls: env.tls,
      driver: driver.library,
      cacheDir: join(dataDir, 'images'),
      environment: driver.environment,
    },
    dataDir,
    log,
  );
  const agent = new Agent({
    agentId: loadAgentId(dataDir),
    version: options.version,
    url: env.url.replace(/\/+$/, ''),
    readToken,
    dataAddress: env.dataAddress,
    dataPort: env.dataPort,
    certificate: env.tls ? certificate : null,
    driver,
    supervisor,
    log,
    onFirstConnected: () =>
      process.stdout.write(`agent connected to ${env.url} with ${driver.inventory.gpus.length} GPUs\n`),
  });
  log.info(
    { driver: driver.library, software: driver.software, gpus: driver.inventory.gpus.length },
    'the agent starts',
  );
  agent.start();
  const signal = await stopSignal();
  log.info({ signal, keepWorker: options.keepWorker }, 'the agent stops');
  await agent.stop(options.keepWorker ? 'keep' : 'shutdown');
}

/** Throws PORT_IN_USE when another program has the data port; a worker from before may have it. */
async function needDataPort(dataDir: string, host: string, port: number): Promise<void> {
  if (recordedWorker(dataDir) !== null) return;
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.on('error', (error) => {
      reject(
        new SluiceError(
          'PORT_IN_USE',
          `The data port ${port} on ${host} cannot be used (${error.message}).`,
          {
            hint: 'Stop the program that has it, or set SLUICE_DATA_PORT to another port.',
          },
        ),
      );
    });
    probe.listen(port, host, () => probe.close(() => resolve()));
  });
}

function tokenSource(env: Env, option: string | null): () => string | null {
  const file = option ?? env.tokenFile;
  if (file === null) {
    if (env.token !== null) return () => env.token;
    throw new SluiceError('TOKEN_MISSING', 'The agent has no token for the control plane.', {
      hint: 'Make one with `sluice tokens create --agent NAME` and give it in SLUICE_TOKEN or --token-file.',
    });
  }
  return () => {
    try {
      return readFileSync(file, 'utf8').trim() || null;
    } catch {
      return null; // The server refuses an agent without one; the file may come later.
    }
  };
}

function stopSignal(): Promise<string> {
  return new Promise((settle) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => settle(signal));
  });
}
