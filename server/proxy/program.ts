// The program that is to run with pool GPUs: where it is, and what it finds in its environment.
import { constants, accessSync, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import type { Grant } from './grant';

export type ProgramLookup =
  | { readonly found: true; readonly file: string }
  | { readonly found: false; readonly exitCode: 126 | 127; readonly message: string };

/** Finds a program as a shell would. Exit codes as a shell's: 127 not there, 126 there but not executable. */
export function findProgram(name: string, searchPath: string, folder: string): ProgramLookup {
  const candidates = name.includes('/')
    ? [resolve(folder, name)]
    : searchPath.split(delimiter).map((entry) => join(resolve(folder, entry || '.'), name));
  let unusable: string | null = null;
  for (const file of candidates) {
    const state = inspect(file);
    if (state === 'executable') return { found: true, file };
    if (state !== 'missing') unusable ??= `${file} ${state}`;
  }
  if (unusable !== null) return { found: false, exitCode: 126, message: `${unusable}.` };
  const where = name.includes('/') ? 'there is no such file' : 'it is in no folder of PATH';
  return { found: false, exitCode: 127, message: `The program "${name}" was not found: ${where}.` };
}

function inspect(
  file: string,
): 'executable' | 'missing' | 'is a folder, not a program' | 'may not be executed' {
  try {
    if (!statSync(file).isFile()) return 'is a folder, not a program';
    accessSync(file, constants.X_OK);
    return 'executable';
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    return code === 'EACCES' ? 'may not be executed' : 'missing';
  }
}

/**
 * Variables that make a CUDA program use the grant. The client library's folder comes first, because the
 * loader takes the first libcuda.so.1 that it finds; the user's own folders stay behind it.
 */
export function grantEnvironment(
  grant: Grant,
  clientLibraries: string,
  libraryPath: string | undefined,
): Record<string, string | null> {
  const others = (libraryPath ?? '').split(':').filter((entry) => entry !== '' && entry !== clientLibraries);
  return {
    LD_LIBRARY_PATH: [clientLibraries, ...others].join(':'),
    SLUICE_GRANT: JSON.stringify(grant),
    // One left over from an outer `sluice run` would contradict the new grant.
    SLUICE_GRANT_FILE: null,
  };
}
