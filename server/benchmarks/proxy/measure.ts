// Runs the C++ programs that measure, and reads the line of JSON that each prints.
import { execFile } from 'node:child_process';
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
}

/** How a CUDA program reaches its GPU: variables, and what it is started through. */
export interface Setting {
  readonly environment: Readonly<Record<string, string | null>>;
  readonly prefix: readonly string[];
}

const rawTcp = z.object({ roundTripMicroseconds: z.number(), toGBps: z.number(), fromGBps: z.number() });

const figures = z.object({
  syncMicroseconds: z.number(),
  launchesPerSecond: z.number(),
  completedPerSecond: z.number(),
  pageableToGBps: z.number(),
  pageableFromGBps: z.number(),
  pinnedToGBps: z.number(),
  pinnedFromGBps: z.number(),
});
const firstResult = z.object({ firstResultMilliseconds: z.number() });

export type RawTcpFigures = z.infer<typeof rawTcp>;
export type ProgramFigures = z.infer<typeof figures>;

export function benchPrograms(native: NativePaths): BenchPrograms {
  const samples = join(dirname(native.workerBinary), '../samples');
  return {
    rawTcp: join(samples, 'bench/raw_tcp'),
    proxyFigures: join(samples, 'bench/proxy_figures'),
    deviceQuery: join(samples, 'device_query'),
  };
}

/** The UUID of the first software GPU. */
export async function softgpuUuid(programs: BenchPrograms, setting: Setting): Promise<string> {
  const text = await output([programs.deviceQuery], setting);
  const [uuid] = /GPU-[0-9a-f-]{36}/.exec(text) ?? [];
  if (uuid === undefined) throw new Error(`device_query names no GPU: ${text}`);
  return uuid;
}

/** Loopback without a proxy. `cores`: which core each side is bound to. */
export async function measureRawTcp(
  programs: BenchPrograms,
  cores: { client: number; server: number } | null,
): Promise<RawTcpFigures> {
  const bound = cores === null ? [] : ['--cores', `${cores.client},${cores.server}`];
  const text = await output([programs.rawTcp, ...bound], { environment: {}, prefix: [] });
  return rawTcp.parse(JSON.parse(text));
}

/** Everything but the start, in one process. */
export async function measureProgram(programs: BenchPrograms, setting: Setting): Promise<ProgramFigures> {
  return figures.parse(JSON.parse(await output([programs.proxyFigures], setting)));
}

/** Milliseconds from starting a process to its first kernel's result; the median of five processes. */
export async function measureFirstResult(programs: BenchPrograms, setting: Setting): Promise<number> {
  const results: number[] = [];
  for (let i = 0; i < 5; i += 1) {
    // Node's hrtime is CLOCK_MONOTONIC, which the program reads too.
    const started = process.hrtime.bigint().toString();
    const text = await output([programs.proxyFigures, '--first-only', '--started-ns', started], setting);
    results.push(firstResult.parse(JSON.parse(text)).firstResultMilliseconds);
  }
  return median(results);
}

/** The middle value, the upper of two. */
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
