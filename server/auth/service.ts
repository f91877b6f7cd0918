import type { Role } from '../db/roles';
import type { Actor } from '../db/actor';

export type { Actor };

export type TokenKind = 'user' | 'agent';

/** Someone who proved who they are, by a session cookie or an API token. */
export interface Caller {
  userId: string;
  email: string;
  name: string;
  role: Role;
  via: 'session' | 'token';
  tokenId: string | null;
}

export interface TokenRow {
  id: string;
  name: string;
  kind: TokenKind;
  /** First characters, to tell tokens apart; the rest is not kept. */
  prefix: string;
  userEmail: string | null;
  createdAt: number;
  expiresAt: number | null;
  lastUsedAt: number | null;
  revokedAt: number | null;
}

export interface UserRow {
  id: string;
  email: string;
  name: string;
  role: Role;
  createdAt: number;
}

/** Identity: sign-in, users, API tokens. All methods throw SluiceError. */
export interface AuthService {
  /**
   * The caller of an HTTP request, or null when it carries no credentials.
   * @throws TOKEN_INVALID for a bearer token that is not good, TOKEN_KIND_WRONG for an agent's.
   */
  resolveCaller(headers: Headers): Promise<Caller | null>;
  /** The token of an agent's connection. @throws TOKEN_INVALID, TOKEN_KIND_WRONG */
  resolveAgent(authorization: string | null): Promise<{ tokenId: string; tokenName: string }>;
  /** True while the token has been neither revoked nor expired. */
  isTokenValid(tokenId: string): Promise<boolean>;
  /** The plain HTTP side of sign-in, mounted at /api/auth. */
  handleHttp(request: Request): Promise<Response>;

  listTokens(caller: Caller): Promise<TokenRow[]>;
  /** The secret is in the answer and nowhere else. */
  createToken(
    actor: Actor,
    input: { name: string; kind: TokenKind; expiresAt?: number | null; userId: string },
  ): Promise<{ row: TokenRow; token: string }>;
  revokeToken(actor: Actor, caller: Caller, id: string): Promise<TokenRow>;

  listUsers(): Promise<UserRow[]>;
  /** @returns the row, and the password when none was given. */
  createUser(
    actor: Actor,
    input: { email: string; name: string; role: Role; password?: string },
  ): Promise<{ user: UserRow; password: string | null }>;
  setRole(actor: Actor, userId: string, role: Role): Promise<UserRow>;
}
