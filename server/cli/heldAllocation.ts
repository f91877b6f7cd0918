// The allocation that `request_gpus` keeps for later commands, in a file that only this user can read.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { stateFolder } from '../env/child';
import { SluiceError } from '../errors';
import type { Grant } from '../proxy/grant';
import { CliFailure } from './failure';

export interface HeldAllocation {
  readonly url: string;
  readonly allocation: string;
  readonly grant: Grant;
}

/** The file named by -f, else the user's own. */
export function heldFile(option: string | undefined): string {
  return option === undefined ? join(stateFolder(), 'allocation.json') : resolve(option);
}

/** Throws CliFailure when the file is not there, GRANT_INVALID when it is something else. */
export function readHeld(file: string): HeldAllocation {
  if (!existsSync(file)) {
    throw new CliFailure(
      `No allocation is held: there is no ${file}.`,
      'Ask for one with `sluice request_gpus -n 1`.',
    );
  }
  try {
    const held = JSON.parse(readFileSync(file, 'utf8')) as Partial<HeldAllocation>;
    const { url, allocation, grant } = held;
    if (typeof url === 'string' && typeof allocation === 'string' && grant?.allocation === allocation) {
      return { url, allocation, grant };
    }
  } catch {
    // Not JSON: the same sentence fits.
  }
  throw new SluiceError('GRANT_INVALID', `${file} does not hold an allocation.`, {
    hint: 'Name the file that `sluice request_gpus` wrote.',
  });
}

/** Writes a new file; an existing one is never overwritten, because it may hold GPUs. */
export function writeHeld(file: string, held: HeldAllocation): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${JSON.stringify(held)}\n`, { mode: 0o600, flag: 'wx' });
}

export function forgetHeld(file: string): void {
  rmSync(file, { force: true });
}
