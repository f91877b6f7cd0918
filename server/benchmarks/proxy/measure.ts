// Runs the C++ programs that measure, and reads the line of JSON that each prints.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { childEnvironment } from '../../env/child';
import type { NativePaths } from '../../proxy/projectPaths';

const runFile = promisify(execFile);

export interface BenchPrograms {
  readonly rawTcp: string;
  readonly proxyFigures: string;
  readonly deviceQuery: string;
  readonly relay: string;
  /** A driver that answers everything at once. */
  readonly noopDriver: string;
}

/** How a CUDA program reaches its GPU: variables, and what it is started through. */
export interface Setting {
  readonly environment: Readonly<Record<string, string | null>>;
  readonly prefix: readonly string[];
}

/** Values by their name; the program's usage says which there are. */
export type Figures = Readonly<Record<string, number>>;
const figures = z.record(z.string(), z.number());

const statistics = z.object({
  roundTrips: z.number(),
  bytesSent: z.number(),
  bytesReceived: z.number(),
});
export type Statistics = z.infer<typeof statistics>;

export function benchPrograms(native: NativePaths): BenchPrograms {
  const build = join(dirname(native.workerBinary), '..');
  return {
    rawTcp: join(build, 'samples/bench/raw_tcp'),
    proxyFigures: join(build, 'samples/bench/proxy_figures'),
    deviceQuery: join(build, 'samples/device_query'),
    relay: join(build, 'samples/bench/relay'),
    noopDriver: join(build, 'lib/noop/libcuda.so.1'),
  };
}

/** The UUID of the first GPU that the setting gives. */
export async function firstUuid(programs: BenchPrograms, setting: Setting): Promise<string> {
  const text = await output([programs.deviceQuery], setting);
  const [uuid] = /GPU-[0-9a-f-]{36}/.exec(text) ?? [];
  if (uuid === undefined) throw new Error(`device_query names no GPU: ${text}`);
  return uuid;
}

/** Loopback without a proxy. `cores`: which core each side is bound to. */
export async function measureRawTcp(
  programs: BenchPrograms,
  cores: { client: number; server: number } | null,
): Promise<Figures> {
  const bound = cores === null ? [] : ['--cores', `${cores.client},${cores.server}`];
  const text = await output([programs.rawTcp, ...bound], { environment: {}, prefix: [] });
  return figures.parse(JSON.parse(text));
}

/** One figure of `proxy_figures`, in a process of its own. */
export async function measureFigure(
  programs: BenchPrograms,
  parameters: readonly string[],
  setting: Setting,
): Promise<Figures> {
  return figures.parse(JSON.parse(await output([programs.proxyFigures, ...parameters], setting)));
}

/** What the client library counted while `proxy_figures` ran. */
export async function measureStatistics(
  programs: BenchPrograms,
  parameters: readonly string[],
  setting: Setting,
): Promise<Statistics> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-stats-'));
  const file = join(folder, 'stats.json');
  try {
    const environment = { ...setting.environment, SLUICE_STATS: file };
    await output([programs.proxyFigures, ...parameters], { ...setting, environment });
    if (!existsSync(file)) throw new Error('the program did not use the client library');
    return statistics.parse(JSON.parse(readFileSync(file, 'utf8')));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Milliseconds from starting a process to its first completed launch; the median of `processes`. */
export async function measureFirstLaunch(
  programs: BenchPrograms,
  setting: Setting,
  processes = 5,
): Promise<number> {
  const results: number[] = [];
  for (let i = 0; i < processes; i += 1) {
    // Node's hrtime is CLOCK_MONOTONIC, which the program reads too.
    const started = process.hrtime.bigint().toString();
    const { ms } = await measureFigure(programs, ['first', '--started-ns', started], setting);
    results.push(ms ?? Number.NaN);
  }
  return median(results);
}

/** The middle value, the upper of two; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

async function output(command: readonly string[], setting: Setting): Promise<string> {
  const [file = '', ...parameters] = [...setting.prefix, ...command];
  try {
    const { stdout } = await runFile(file, parameters, {
      env: childEnvironment(setting.environment),
      timeout: 120_000,
    });
    return stdout;
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
    throw new Error(`${command.join(' ')} failed${said === '' ? '' : `: ${said}`}`, { cause: error });
  }
}
