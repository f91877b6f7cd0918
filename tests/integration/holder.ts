// The test's own CUDA program (holder.c), built once, and runs of it whose beginning can be awaited.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Pool } from './pool';

let built: string | undefined;

/** Path of the program. */
export function holderProgram(): string {
  if (built === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-holder-'));
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
    const source = fileURLToPath(new URL('holder.c', import.meta.url));
    built = join(folder, 'holder');
    execFileSync('gcc', ['-O1', '-o', built, source, '-ldl']);
  }
  return built;
}

export interface Holding {
  /** Of the command line, `sluice run` or `client`. */
  readonly pid: number;
  /** The program's own. */
  readonly programPid: number;
  /** All of it, when it has ended. */
  readonly ended: Promise<{
    exitCode: number | undefined;
    stdout: string;
    stderr: string;
    signal: string | undefined;
  }>;
}

/** Starts the holder by `sluice ARGS -- holder MIB` and resolves when it holds its memory. Rejects when it ends before. */
export async function startHolder(pool: Pool, args: readonly string[], mib: number): Promise<Holding> {
  const child = pool.sluice([...args, '--', holderProgram(), String(mib)]);
  const ended = child.then((result) => ({
    exitCode: result.exitCode,
    stdout: String(result.stdout),
    stderr: String(result.stderr),
    signal: result.signal,
  }));
  const holding = new Promise<void>((resolve) => {
    if (child.stdout !== null) createInterface({ input: child.stdout }).once('line', () => resolve());
  });
  const early = await Promise.race([holding.then(() => null), ended]);
  if (early !== null) throw new Error(`the holder ended at once: ${JSON.stringify(early)}\n${pool.output()}`);
  const pid = child.pid ?? 0;
  return { pid, programPid: onlyChild(pid), ended };
}

/** True while a process with this pid is there and not a zombie. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

function onlyChild(parent: number): number {
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      if (Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent) return Number(entry);
    } catch {
      // It ended while we looked.
    }
  }
  throw new Error(`process ${parent} has no child`);
}
