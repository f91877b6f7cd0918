import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Database } from '../db/database';
import { findUserByEmail, countUsers } from '../db/users';
import { SYSTEM_ACTOR } from '../db/actor';
import type { AuthService } from './service';
import { hashToken } from './tokens';
import { findTokenByHash } from '../db/tokens';

export const FIRST_ADMIN = 'admin@sluice.local';

/** What the first start tells the person who started it; null when it made nothing. */
export interface FirstStart {
  email: string;
  passwordFile: string;
  password: string;
}

/**
 * Makes what a new installation needs: the first administrator, a token for
 * the local agent and, when asked to, the local user's command-line token.
 * Each is made again when its file is gone or no longer good, so that a
 * crash between database and file heals at the next start.
 */
export async function bootstrap(options: {
  db: Database;
  auth: AuthService;
  dataDir: string;
  url: string;
  /** Where the command line looks for its token; null leaves it alone. */
  credentialsFile: string | null;
}): Promise<FirstStart | null> {
  const { db, auth, dataDir } = options;
  const first = (await countUsers(db.queries)) === 0 ? await createAdmin(auth, dataDir) : null;
  const admin = await findUserByEmail(db.queries, FIRST_ADMIN);
  // Somebody removed the first administrator: tokens are theirs to make now.
  if (!admin) return first;

  const agentToken = path.join(dataDir, 'agent-token');
  if (!(await isGood(db, readText(agentToken)))) {
    const input = { name: 'agent of this machine', kind: 'agent', userId: admin.id } as const;
    writeSecret(agentToken, (await auth.createToken(SYSTEM_ACTOR, input)).token);
  }
  if (
    options.credentialsFile !== null &&
    !(await isGood(db, credentialsToken(options.credentialsFile, options.url)))
  ) {
    const input = { name: 'command line of this machine', kind: 'user', userId: admin.id } as const;
    const { token } = await auth.createToken(SYSTEM_ACTOR, input);
    writeSecret(options.credentialsFile, `${JSON.stringify({ url: options.url, token }, null, 2)}\n`);
  }
  return first;
}

/** The key that signs session cookies: kept in the data directory, made at the first start. */
export function readOrCreateSecret(dataDir: string): string {
  const file = path.join(dataDir, 'auth-secret');
  const known = readText(file);
  if (known !== null && known.length >= 32) return known;
  const secret = randomBytes(32).toString('hex');
  writeSecret(file, secret);
  return secret;
}

/** The file comes first: a crash after it leaves a password nobody needs, not a user nobody can be. */
async function createAdmin(auth: AuthService, dataDir: string): Promise<FirstStart> {
  const password = randomBytes(15).toString('base64url');
  const passwordFile = path.join(dataDir, 'admin-password');
  writeSecret(passwordFile, `${password}\n`);
  await auth.createUser(SYSTEM_ACTOR, { email: FIRST_ADMIN, name: 'Administrator', role: 'admin', password });
  return { email: FIRST_ADMIN, passwordFile, password };
}

async function isGood(db: Database, token: string | null): Promise<boolean> {
  if (token === null) return false;
  const record = await findTokenByHash(db.queries, hashToken(token.trim()));
  return record !== null && record.revokedAt === null;
}

function credentialsToken(file: string, url: string): string | null {
  try {
    const value: unknown = JSON.parse(readText(file) ?? '');
    if (typeof value !== 'object' || value === null || !('token' in value) || !('url' in value)) return null;
    return value.url === url && typeof value.token === 'string' ? value.token : null;
  } catch {
    return null;
  }
}

function readText(file: string): string | null {
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}

/** Readable by this user only, and never half-written under its name. */
function writeSecret(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const aside = `${file}.new-${process.pid}`;
  writeFileSync(aside, text, { mode: 0o600 });
  renameSync(aside, file);
}
