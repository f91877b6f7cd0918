// The environment of programs and helpers that this process starts.
import { homedir } from 'node:os';
import { join } from 'node:path';

/** This process's environment with `changes` applied; null removes a variable. */
export function childEnvironment(changes: Readonly<Record<string, string | null>> = {}): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...process.env, ...changes })) {
    if (value !== undefined && value !== null) result[name] = value;
  }
  return result;
}

/** Folders in which a program is looked for, as execvp does. */
export function searchPath(): string {
  return process.env.PATH || '/usr/local/bin:/usr/bin:/bin';
}

/** The user's folder for what outlives one command, such as a held allocation. */
export function stateFolder(): string {
  return join(process.env.XDG_STATE_HOME || join(process.env.HOME || homedir(), '.local/state'), 'sluice');
}
