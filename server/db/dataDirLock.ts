import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { SluiceError } from '../errors';

/**
 * Claims a data directory for this process, so that two servers never write
 * one database. A lock whose process is gone (kill -9, power cut) is taken over.
 *
 * @returns a function that gives the directory back.
 * @throws SluiceError DATA_DIR_IN_USE naming the process that holds it.
 */
export function lockDataDir(dataDir: string): () => void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const lock = path.join(dataDir, 'server.lock');
  const mine = path.join(dataDir, `.server.lock.${process.pid}`);
  const content = JSON.stringify({ pid: process.pid, startedAt: processStart(process.pid) });
  writeFileSync(mine, content, { mode: 0o600 });
  try {
    while (!tryLink(mine, lock)) removeIfStale(lock, mine, dataDir);
  } finally {
    rmSync(mine, { force: true });
  }
  return () => {
    if (read(lock) === content) rmSync(lock, { force: true });
  };
}

/** link(2) fails when the target exists, so only one process can win. */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Moves a dead process's lock away. Somebody else may have done so and put
 * their own in its place meanwhile: what was moved is looked at again, and put back.
 */
function removeIfStale(lock: string, mine: string, dataDir: string): void {
  const seen = read(lock);
  if (seen === null) return;
  refuseIfAlive(seen, dataDir);
  const aside = `${mine}.stale`;
  try {
    renameSync(lock, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  const moved = read(aside);
  if (moved !== seen) tryLink(aside, lock);
  unlinkSync(aside);
}

function refuseIfAlive(content: string, dataDir: string): void {
  const holder = parseLock(content);
  if (!holder || processStart(holder.pid) === null || processStart(holder.pid) !== holder.startedAt) return;
  throw new SluiceError('DATA_DIR_IN_USE', `Sluice is already running on ${dataDir} (pid ${holder.pid}).`, {
    hint: 'Use the one that runs, stop it, or set SLUICE_DATA_DIR to another folder.',
  });
}

function parseLock(content: string): { pid: number; startedAt: string | null } | null {
  try {
    const value: unknown = JSON.parse(content);
    if (typeof value !== 'object' || value === null || !('pid' in value) || typeof value.pid !== 'number')
      return null;
    const startedAt = 'startedAt' in value && typeof value.startedAt === 'string' ? value.startedAt : null;
    return { pid: value.pid, startedAt };
  } catch {
    return null;
  }
}

/** When a process started, in clock ticks since boot with the boot's id; null when there is none. Tells a reused pid apart. */
function processStart(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Field 22, counted after the command name, which may hold spaces and brackets.
    const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot}/${ticks}`;
  } catch {
    return null;
  }
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}
