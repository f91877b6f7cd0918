// What a CUDA runtime library would find: runs native/client/doctor under a grant and reads what it prints.
import { execFile } from 'node:child_process';
import { z } from 'zod';
import { childEnvironment } from '../env/child';
import type { Finding } from './findings';
import type { Grant } from './grant';
import { grantEnvironment } from './program';
import type { NativePaths } from './projectPaths';

const line = z.union([
  z.object({ step: z.string(), ok: z.boolean(), detail: z.string(), microseconds: z.number() }),
  z.object({ value: z.string(), is: z.unknown() }),
]);

const timeoutMs = 60_000;

const titles: Readonly<Record<string, string>> = {
  library: 'Driver library that programs load',
  names: 'Functions of the driver',
  initialize: 'Start of the driver',
  tables: 'Private tables of the driver',
  hooks: 'Private table of the tools',
  integrity: 'Integrity check of the runtime library',
  context: 'Context and context-local storage',
  kernel: 'A kernel on the GPU',
  'round trip': 'Round trip',
  bandwidth: 'Bandwidth',
  'image cache': 'Loading of modules',
};

/** Of CUDA's start sequence and of the pool, as one process sees them. */
export interface DoctorReport {
  readonly findings: readonly Finding[];
  /** As cuDriverGetVersion gives it (13000 for 13.0); null when it was not reached. */
  readonly driverVersion: number | null;
  /** Versions and measured figures by name, for machines and bug reports. */
  readonly values: Readonly<Record<string, unknown>>;
}

/** Never rejects: a program that crashes or hangs is a finding. */
export function runDoctor(paths: NativePaths, grant: Grant): Promise<DoctorReport> {
  const environment = grantEnvironment(grant, paths.clientLibraries, undefined);
  return new Promise((resolve) => {
    execFile(
      paths.doctorBinary,
      [],
      { env: childEnvironment({ ...environment, SLUICE_LOG: 'error' }), timeout: timeoutMs },
      (error, stdout, stderr) => {
        const report = readReport(stdout);
        const crashed = error !== null && (error.killed === true || typeof error.code !== 'number');
        resolve(crashed ? { ...report, findings: [...report.findings, endFinding(error, stderr)] } : report);
      },
    );
  });
}

/** Exported for its test. Lines that are none of the doctor's are left out. */
export function readReport(stdout: string): DoctorReport {
  const findings: Finding[] = [];
  const values: Record<string, unknown> = {};
  for (const text of stdout.split('\n')) {
    const parsed = line.safeParse(parseJson(text));
    if (!parsed.success) continue;
    if ('value' in parsed.data) values[parsed.data.value] = parsed.data.is;
    else findings.push(stepFinding(parsed.data.step, parsed.data.ok, parsed.data.detail));
  }
  const { driverVersion } = values;
  return { findings, values, driverVersion: typeof driverVersion === 'number' ? driverVersion : null };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function stepFinding(step: string, ok: boolean, detail: string): Finding {
  const server = /^server (.+)$/.exec(step)?.[1];
  return {
    id: `doctor.${step.replaceAll(' ', '-')}`,
    severity: ok ? 'ok' : 'fatal',
    title: server === undefined ? (titles[step] ?? step) : `Worker on ${server}`,
    detail,
    action: ok ? null : 'Attach the output of `sluice doctor --json` to a bug report.',
  };
}

function endFinding(
  error: Error & { code?: unknown; signal?: NodeJS.Signals | null },
  stderr: string,
): Finding {
  const how = error.signal ? `was ended by ${error.signal}` : `could not run: ${error.message}`;
  return {
    id: 'doctor.end',
    severity: 'fatal',
    title: 'Check of the driver library',
    detail: `It ${how} after the steps above. ${stderr.trim().split('\n').at(-1) ?? ''}`.trim(),
    action: 'Attach the output of `sluice doctor --json` to a bug report.',
  };
}
