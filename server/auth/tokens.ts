import { createHash, randomBytes } from 'node:crypto';
import type { Queries } from '../db/database';
import { findTokenByHash, setTokenUsed, type TokenRecord } from '../db/tokens';
import { SluiceError } from '../errors';
import type { TokenKind, TokenRow } from './service';

/** A new token: 256 random bits behind a prefix that says what it is, for people and for secret scanners. */
export function makeToken(kind: TokenKind): { token: string; hash: string; prefix: string } {
  const token = `sluice_${kind}_${randomBytes(32).toString('base64url')}`;
  return { token, hash: hashToken(token), prefix: token.slice(0, `sluice_${kind}_`.length + 4) };
}

export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** The token of an Authorization header; null when there is none or it is of another scheme. */
export function bearerOf(authorization: string | null): string | null {
  return /^Bearer\s+(\S+)$/i.exec(authorization ?? '')?.[1] ?? null;
}

/**
 * Looks a token up and checks that it may be used now.
 *
 * @throws TOKEN_INVALID (the same text whether it is unknown, revoked or expired), TOKEN_KIND_WRONG.
 */
export async function checkToken(
  queries: Queries,
  token: string,
  kind: TokenKind,
  now: number,
): Promise<TokenRecord> {
  const record = await findTokenByHash(queries, hashToken(token));
  if (!record || !isUsable(record, now)) {
    throw new SluiceError('TOKEN_INVALID', 'The token is not valid: unknown, revoked or expired.', {
      hint: 'Make a new one with `sluice tokens create` or on the page "Tokens".',
    });
  }
  if (record.kind !== kind) {
    throw new SluiceError(
      'TOKEN_KIND_WRONG',
      `This is a token for ${nameOf(record.kind)}; here one for ${nameOf(kind)} is needed.`,
    );
  }
  await noteUse(queries, record, now);
  return record;
}

export function isUsable(record: TokenRecord, now: number): boolean {
  return record.revokedAt === null && (record.expiresAt === null || record.expiresAt.getTime() > now);
}

export function tokenRow(record: TokenRecord): TokenRow {
  return {
    id: record.id,
    name: record.name,
    kind: record.kind === 'agent' ? 'agent' : 'user',
    prefix: record.prefix,
    userEmail: record.user?.email ?? null,
    createdAt: record.createdAt.getTime(),
    expiresAt: record.expiresAt?.getTime() ?? null,
    lastUsedAt: record.lastUsedAt?.getTime() ?? null,
    revokedAt: record.revokedAt?.getTime() ?? null,
  };
}

/** Once a minute is exact enough, and keeps reading from being writing. */
async function noteUse(queries: Queries, record: TokenRecord, now: number): Promise<void> {
  if (record.lastUsedAt !== null && now - record.lastUsedAt.getTime() < 60_000) return;
  await setTokenUsed(queries, record.id, new Date(now));
}

function nameOf(kind: string): string {
  return kind === 'agent' ? 'agents' : 'users';
}
