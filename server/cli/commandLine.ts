// The program that `run` and `client` start, as it was typed.
import { getEnv } from '../env';
import { searchPath } from '../env/child';
import { SluiceError } from '../errors';
import { existsSync } from 'node:fs';
import { findProgram } from '../proxy/program';
import { nativePaths } from '../proxy/projectPaths';
import { CliFailure } from './failure';

export interface Invocation {
  readonly name: string;
  /** Absolute path of the program. */
  readonly file: string;
  readonly args: readonly string[];
  /** Folder of the libraries that it will load. */
  readonly clientLibraries: string;
}

/**
 * Checks that the program and the client libraries are there, before anything is asked of the pool. Throws
 * CliFailure with a shell's exit status, or NATIVE_MISSING.
 */
export function prepareInvocation(words: readonly string[]): Invocation {
  const [name, ...args] = oneQuotedString(words);
  if (name === undefined || name === '') {
    throw new CliFailure(
      'There is no program to run.',
      'Write it after the options: sluice run -n 1 -- PROGRAM ARGUMENTS.',
      2,
    );
  }
  const lookup = findProgram(name, searchPath(), process.cwd());
  if (!lookup.found) {
    throw new CliFailure(lookup.message, 'Check its name and path; nothing was allocated.', lookup.exitCode);
  }
  const paths = nativePaths(getEnv().nativeDir);
  if (!existsSync(paths.clientDriver)) {
    throw new SluiceError(
      'NATIVE_MISSING',
      `The client libraries are not built: there is no ${paths.clientDriver}.`,
      {
        hint: 'Build them with `npm run build:native`, or set SLUICE_NATIVE_DIR.',
      },
    );
  }
  return { name, file: lookup.file, args, clientLibraries: paths.clientLibraries };
}

/** Bitfusion also took the whole command as one quoted string. */
function oneQuotedString(words: readonly string[]): readonly string[] {
  const [only] = words;
  if (words.length !== 1 || only === undefined || !/\s/.test(only.trim()) || existsSync(only)) return words;
  return splitWords(only);
}

/** Words as a shell splits them: spaces separate, quotes and backslashes keep. Nothing is expanded. */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  const pattern = /\s*((?:[^\s"'\\]+|"(?:[^"\\]|\\.)*"|'[^']*'|\\.)+)/gy;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const part = (match[1] ?? '').replace(
      /"((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)/g,
      (_, double?: string, single?: string, escaped?: string) =>
        double === undefined ? (single ?? escaped ?? '') : double.replace(/\\(["\\$`])/g, '$1'),
    );
    words.push(part);
  }
  return words;
}
