// The listener as a process: started detached, so that it and the programs that
// it serves outlive the agent, and recorded in a file, so that a later agent knows it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { childEnvironment } from '../env/child';

export interface WorkerSettings {
  readonly binary: string;
  /** ADDR:PORT of the data plane. */
  readonly listen: string;
  readonly certificateFile: string;
  readonly keyFile: string;
  readonly tls: boolean;
  /** Folder for program images by content. */
  readonly cacheDir: string;
  /** libcuda.so.1 that sessions load. */
  readonly driver: string;
  /** Variables for the driver, such as SLUICE_SOFTGPU. */
  readonly environment: Readonly<Record<string, string>>;
}

interface WorkerRecord {
  readonly pid: number;
  /** Differs when the worker was started with other settings than today's. */
  readonly settings: string;
}

// Linux allows 107 bytes in the address of a Unix socket.
const socketPathMax = 100;
const logBytesMax = 10 * 1024 * 1024;

/** The control socket that belongs to a data folder; elsewhere when the folder's path is too long for one. */
export function controlSocketPath(dataDir: string): string {
  const path = join(dataDir, 'worker.sock');
  if (Buffer.byteLength(path) <= socketPathMax) return path;
  return join(tmpdir(), `sluice-${createHash('sha256').update(dataDir).digest('hex').slice(0, 24)}.sock`);
}

/** Identifies settings, the worker's build included. */
export function settingsDigest(settings: WorkerSettings): string {
  const build = existsSync(settings.binary) ? statSync(settings.binary).mtimeMs : 0;
  return createHash('sha256')
    .update(JSON.stringify([settings, build]))
    .digest('hex');
}

export class WorkerProcess {
  private constructor(
    readonly pid: number,
    /** Resolves with a sentence when the process has ended. */
    readonly ended: Promise<string>,
  ) {}

  /** Starts a listener that logs to worker.log in `dataDir`. Rejects when the program cannot be executed. */
  static async start(settings: WorkerSettings, dataDir: string): Promise<WorkerProcess> {
    const logFile = join(dataDir, 'worker.log');
    if (existsSync(logFile) && statSync(logFile).size > logBytesMax) renameSync(logFile, `${logFile}.1`);
    const log = openSync(logFile, 'a', 0o600);
    const logStart = statSync(logFile).size;
    const child = spawn(settings.binary, workerArguments(settings, controlSocketPath(dataDir)), {
      detached: true,
      stdio: ['ignore', log, log],
      cwd: '/', // It outlives this process and must not keep a folder busy.
      // It serves strangers: the agent's token is none of its business.
      env: childEnvironment({
        ...settings.environment,
        SLUICE_TOKEN: null,
        SLUICE_GRANT: null,
        SLUICE_GRANT_FILE: null,
      }),
    });
    closeSync(log);
    await once(child, 'spawn');
    child.unref();
    const pid = child.pid ?? 0;
    writeFileSync(recordFile(dataDir), JSON.stringify({ pid, settings: settingsDigest(settings) }), {
      mode: 0o600,
    });
    const ended = new Promise<string>((resolve) => {
      child.on('exit', (code, signal) => {
        const said = lastLine(logFile, logStart);
        resolve(`it ended (${signal ?? `exit status ${code}`})${said === '' ? '' : `, saying: ${said}`}`);
      });
    });
    return new WorkerProcess(pid, ended);
  }
}

/** What is known of the worker that was started last from `dataDir`; null when it runs no more. */
export function recordedWorker(dataDir: string): WorkerRecord | null {
  try {
    const record = JSON.parse(readFileSync(recordFile(dataDir), 'utf8')) as WorkerRecord;
    return isWorker(record.pid) ? record : null;
  } catch {
    return null; // None was ever started here, or the file was cut short.
  }
}

/** True when `pid` runs and is a worker; pids are reused. */
export function isWorker(pid: number): boolean {
  try {
    return /\/sluice-worker( \(deleted\))?$/.test(readlinkSync(`/proc/${pid}/exe`));
  } catch {
    return false;
  }
}

/** Ends a worker or one of its session processes at once. Nothing happens when the pid is something else by now. */
export function killWorker(pid: number): void {
  if (!isWorker(pid)) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself in between.
  }
}

function workerArguments(settings: WorkerSettings, socket: string): string[] {
  const { listen, driver, cacheDir } = settings;
  const base = ['--listen', listen, '--control', socket, '--driver', driver, '--cache', cacheDir];
  return settings.tls
    ? [...base, '--cert', settings.certificateFile, '--key', settings.keyFile]
    : [...base, '--tls', 'off'];
}

function recordFile(dataDir: string): string {
  return join(dataDir, 'worker.json');
}

function lastLine(file: string, start: number): string {
  const text = readFileSync(file).subarray(start).toString();
  return text.trim().split('\n').at(-1)?.slice(0, 500) ?? '';
}
