// Which control plane the command line talks to, and with which token.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { getEnv } from '../env';
import { SluiceError } from '../errors';

export interface Credentials {
  /** Without a trailing slash. */
  readonly url: string;
  readonly token: string | null;
}

/**
 * SLUICE_URL and SLUICE_TOKEN, else the credentials file, else the default address without a token. The
 * stored token is used only for the server that it was stored for.
 */
export function findCredentials(): Credentials {
  const env = getEnv();
  const stored = readStored(env.credentialsFile);
  const url = trimUrl(env.urlOverride ?? stored?.url ?? env.url);
  const token = env.token ?? (stored !== null && trimUrl(stored.url) === url ? stored.token : null);
  return { url, token };
}

/** findCredentials, but throws TOKEN_MISSING without a token. */
export function needCredentials(): { url: string; token: string } {
  const { url, token } = findCredentials();
  if (token !== null) return { url, token };
  throw new SluiceError('TOKEN_MISSING', `There is no token for the Sluice server at ${url}.`, {
    hint: 'Run `sluice login`, or set SLUICE_TOKEN.',
  });
}

/** Writes the credentials file, readable for this user only. */
export function storeCredentials(credentials: { url: string; token: string }): string {
  const file = getEnv().credentialsFile;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.new`, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return file;
}

export function trimUrl(url: string): string {
  return url.replace(/\/+$/, '');
}

function readStored(file: string): { url: string; token: string } | null {
  if (!existsSync(file)) return null;
  try {
    const { url, token } = JSON.parse(readFileSync(file, 'utf8')) as { url?: unknown; token?: unknown };
    if (typeof url === 'string' && typeof token === 'string') return { url, token };
  } catch (error) {
    if (error instanceof Error && 'code' in error) {
      throw new SluiceError('ENVIRONMENT_INVALID', `${file} cannot be read: ${error.message}.`);
    }
  }
  throw new SluiceError('ENVIRONMENT_INVALID', `${file} does not hold a url and a token.`, {
    hint: 'Write it anew with `sluice login`.',
  });
}
