// Checks of this machine for `sluice doctor`.
import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { getEnv } from '../env';
import { childEnvironment, searchPath } from '../env/child';
import type { Finding } from '../proxy/findings';
import { findProgram } from '../proxy/program';
import { nativePaths } from '../proxy/projectPaths';

const run = promisify(execFile);

export function nodeFinding(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const fits = major > 20 || (major === 20 && minor >= 9);
  return {
    id: 'client.node',
    severity: fits ? 'ok' : 'fatal',
    title: 'Node.js',
    detail: `Version ${process.versions.node}.`,
    action: fits ? null : 'Install version 20.9 or newer.',
  };
}

/** The token is as good as a password: nobody else may read the file. */
export function credentialsFinding(): Finding {
  const file = getEnv().credentialsFile;
  const base = { id: 'client.credentials', title: 'Credentials file' };
  if (!existsSync(file)) {
    const fromEnvironment = getEnv().token !== null;
    return {
      ...base,
      severity: fromEnvironment ? 'ok' : 'warning',
      detail: fromEnvironment ? 'Not there; SLUICE_TOKEN is set.' : `${file} is not there.`,
      action: fromEnvironment ? null : 'Run `sluice login`, or set SLUICE_TOKEN.',
    };
  }
  const open = (statSync(file).mode & 0o077) !== 0;
  return {
    ...base,
    severity: open ? 'warning' : 'ok',
    detail: open ? `${file} can be read by other users.` : `${file} is there and private.`,
    action: open ? `Run: chmod 600 ${file}` : null,
  };
}

/** Which libcuda.so.1 a program that links to it would load under `sluice run`. */
export async function programFinding(name: string): Promise<Finding> {
  const base = { id: 'client.program', title: `Program ${name}` };
  const lookup = findProgram(name, searchPath(), process.cwd());
  if (!lookup.found)
    return { ...base, severity: 'fatal', detail: lookup.message, action: 'Check its name and path.' };
  const paths = nativePaths(getEnv().nativeDir);
  const env = childEnvironment({
    LD_LIBRARY_PATH: [paths.clientLibraries, getEnv().libraryPath ?? ''].filter(Boolean).join(':'),
  });
  const { stdout } = await run('ldd', [lookup.file], { env }).catch(() => ({ stdout: '' }));
  const missing = [...stdout.matchAll(/^\s*(\S+) => not found/gm)].map((match) => match[1]);
  if (missing.length > 0) {
    const detail = `Libraries that it needs are not found: ${missing.join(', ')}.`;
    return {
      ...base,
      severity: 'fatal',
      detail,
      action: 'Install them, or add their folder to LD_LIBRARY_PATH.',
    };
  }
  const driver = /libcuda\.so\.1 => (\S+)/.exec(stdout)?.[1];
  if (driver === undefined) {
    return {
      ...base,
      severity: 'ok',
      detail: 'Links to no driver library; it finds one when it asks for it.',
      action: null,
    };
  }
  const ours = driver === paths.clientDriver;
  return {
    ...base,
    severity: ours ? 'ok' : 'fatal',
    detail: `Loads ${driver}.`,
    action: ours
      ? null
      : 'It carries a fixed library path (RPATH) that comes before LD_LIBRARY_PATH: link it without.',
  };
}
