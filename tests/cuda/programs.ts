// The sample programs in every form that this machine has, and how to run one.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { childEnvironment } from '../../server/env/child';
import { nativePaths, projectRoot } from '../../server/proxy/projectPaths';

export const native = nativePaths(process.env.SLUICE_NATIVE_DIR || null);
export const samplesFolder = join(native.workerBinary, '../../samples');
const root = projectRoot();

export const names = ['device_query', 'matrix_mul', 'reduce', 'saxpy_bandwidth', 'stream_overlap'] as const;
export type Name = (typeof names)[number];

/** The interface a program is written against: the driver's, or a version of NVIDIA's runtime library. */
export const forms = ['driver', 'cuda13-static', 'cuda13-shared', 'cuda12-shared', 'cuda11-shared'] as const;
export type Form = (typeof forms)[number];

export interface Program {
  readonly name: Name;
  readonly form: Form;
  readonly file: string;
  /** null: it can be run; else why not. */
  readonly missing: string | null;
}

export const programs: readonly Program[] = forms.flatMap((form) => names.map((name) => find(name, form)));

function find(name: Name, form: Form): Program {
  const [folder = '', kind] = form.split('-');
  const file = form === 'driver' ? join(samplesFolder, name) : join(samplesFolder, folder, `${name}-${kind}`);
  if (existsSync(file)) return { name, form, file, missing: null };
  const how =
    form === 'driver'
      ? 'run `npm run build:native`'
      : 'NVIDIA’s compiler is not installed: tests/cuda/toolchain/fetch.sh, then `npm run build:native`';
  return { name, form, file, missing: `${file} is not there; ${how}` };
}

export interface Outcome {
  /** null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly seconds: number;
}

export interface Running {
  readonly pid: number;
  readonly done: Promise<Outcome>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves when stdout holds `text`; rejects when the program ends first. */
  printed(text: string): Promise<void>;
}

/** Starts a program. Variables that are null are removed from its environment. */
export function start(
  file: string,
  parameters: readonly string[],
  environment: Readonly<Record<string, string | null>>,
): Running {
  const startedAt = performance.now();
  const child = spawn(file, [...parameters], {
    cwd: root,
    env: childEnvironment(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const done = new Promise<Outcome>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      resolve({ code, signal, stdout, stderr, seconds: (performance.now() - startedAt) / 1000 });
    });
  });
  const printed = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => stdout.includes(text) && resolve();
      child.stdout.on('data', look);
      void done.then(
        (outcome) => reject(new Error(`ended before it printed "${text}": ${JSON.stringify(outcome)}`)),
        reject,
      );
      look();
    });
  return { pid: child.pid ?? -1, done, kill: (signal) => void child.kill(signal), printed };
}

/** What the client library writes at exit to the file that SLUICE_STATS names. */
export interface ClientStats {
  readonly calls: number;
  readonly roundTrips: number;
  readonly launches: number;
  readonly bytesSent: number;
  readonly bytesReceived: number;
}

/** Runs a program to its end with SLUICE_STATS set. */
export async function runWithStats(
  file: string,
  parameters: readonly string[],
  environment: Readonly<Record<string, string | null>>,
): Promise<{ outcome: Outcome; stats: ClientStats | null }> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-stats-'));
  const statsFile = join(folder, 'stats.json');
  try {
    const outcome = await start(file, parameters, { ...environment, SLUICE_STATS: statsFile }).done;
    // Each process of the program adds a line when it ends; the program itself ends last.
    const last = existsSync(statsFile)
      ? readFileSync(statsFile, 'utf8').trim().split('\n').at(-1)
      : undefined;
    return { outcome, stats: last === undefined ? null : (JSON.parse(last) as ClientStats) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Output without what differs from run to run: times and rates. */
export function comparable(stdout: string): string {
  return stdout
    .replace(/\d+\.\d+ ms/g, '# ms')
    .replace(/ *\d+\.\d+ GB\/s/g, ' # GB/s')
    .trim();
}
