// The environment of programs and helpers that this process starts.
import { homedir } from 'node:os';
import { join } from 'node:path';

/** This process's environment with `changes` applied; null removes a variable. */
export function childEnvironment(changes: Readonly<Record<string, string | null>> = {}): NodeJS.ProcessEnv {
  const result = { ...process.env };
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete result[name];
    else result[name] = value;
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
