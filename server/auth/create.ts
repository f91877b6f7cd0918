import { randomBytes, randomUUID } from 'node:crypto';
import { hashPassword } from 'better-auth/crypto';
import type { Database } from '../db/database';
import { isRole, type Role } from '../db/roles';
import { findToken, findTokens, insertToken, revokeToken } from '../db/tokens';
import {
  countAdmins,
  findUser,
  findUserByEmail,
  findUsers,
  insertUser,
  setUserRole,
  type UserRecord,
} from '../db/users';
import { SluiceError } from '../errors';
import { audit } from '../db/audit';
import { createBetterAuth } from './betterAuth';
import type { AuthService, Caller, UserRow } from './service';
import { bearerOf, checkToken, isUsable, makeToken, tokenRow } from './tokens';

/** Identity over the database: better-auth for sign-in and sessions, our own API tokens. */
export function createAuth(options: {
  db: Database;
  secret: string;
  baseUrl: string;
  now?: () => number;
}): AuthService {
  const { db } = options;
  const now = options.now ?? Date.now;
  const signIn = createBetterAuth({ prisma: db.prisma, secret: options.secret, baseUrl: options.baseUrl });

  return {
    async resolveCaller(headers) {
      const bearer = bearerOf(headers.get('authorization'));
      if (bearer !== null) {
        const record = await checkToken(db.queries, bearer, 'user', now());
        if (!record.user)
          throw new SluiceError('TOKEN_INVALID', 'The user of this token does not exist any more.');
        return callerOf(record.user, 'token', record.id);
      }
      if (!headers.has('cookie')) return null;
      const session = await signIn.api.getSession({ headers });
      const user = session ? await findUser(db.queries, session.user.id) : null;
      return user ? callerOf(user, 'session', null) : null;
    },

    async resolveAgent(authorization) {
      const bearer = bearerOf(authorization);
      if (bearer === null) throw new SluiceError('TOKEN_INVALID', 'An agent must send its token.');
      const record = await checkToken(db.queries, bearer, 'agent', now());
      return { tokenId: record.id, tokenName: record.name };
    },
    async isTokenValid(tokenId) {
      const record = await findToken(db.queries, tokenId);
      return record !== null && isUsable(record, now());
    },

    handleHttp: (request) => signIn.handler(request),

    async listTokens(caller) {
      const records = await findTokens(db.queries, caller.role === 'admin' ? null : caller.userId);
      return records.map(tokenRow);
    },
    async createToken(actor, input) {
      const { token, hash, prefix } = makeToken(input.kind);
      const record = await db.exclusive(async (queries) => {
        const inserted = await insertToken(queries, {
          id: randomUUID(),
          name: input.name,
          kind: input.kind,
          hash,
          prefix,
          userId: input.userId,
          createdAt: new Date(now()),
          expiresAt: input.expiresAt ? new Date(input.expiresAt) : null,
        });
        await audit(queries, actor, {
          at: now(),
          action: 'token.created',
          subject: `token:${inserted.id}`,
          after: { name: inserted.name, kind: inserted.kind, expiresAt: input.expiresAt ?? null },
        });
        return inserted;
      });
      return { row: tokenRow(record), token };
    },
    async revokeToken(actor, caller, id) {
      const record = await db.exclusive(async (queries) => {
        const found = await findToken(queries, id);
        // To others than the owner and administrators it does not exist.
        if (!found || (caller.role !== 'admin' && found.userId !== caller.userId)) {
          throw new SluiceError('TOKEN_NOT_FOUND', `There is no token ${id}.`);
        }
        if (found.revokedAt !== null) return found;
        await audit(queries, actor, {
          at: now(),
          action: 'token.revoked',
          subject: `token:${id}`,
          before: { name: found.name },
        });
        return revokeToken(queries, id, new Date(now()));
      });
      return tokenRow(record);
    },

    listUsers: async () => (await findUsers(db.queries)).map(userRow),
    async createUser(actor, input) {
      const password = input.password ?? randomBytes(15).toString('base64url');
      const passwordHash = await hashPassword(password);
      const email = input.email.toLowerCase();
      const record = await db.exclusive(async (queries) => {
        if (await findUserByEmail(queries, email)) {
          throw new SluiceError('INVALID_REQUEST', `There is a user ${email} already.`);
        }
        const fields = {
          id: randomUUID(),
          accountId: randomUUID(),
          email,
          name: input.name,
          role: input.role,
        };
        await audit(queries, actor, {
          at: now(),
          action: 'user.created',
          subject: `user:${fields.id}`,
          after: { email, role: input.role },
        });
        return insertUser(queries, { ...fields, passwordHash });
      });
      return { user: userRow(record), password: input.password === undefined ? password : null };
    },
    async setRole(actor, userId, role) {
      const record = await db.exclusive(async (queries) => {
        const found = await findUser(queries, userId);
        if (!found) throw new SluiceError('USER_NOT_FOUND', `There is no user ${userId}.`);
        if (found.role === 'admin' && role !== 'admin' && (await countAdmins(queries)) === 1) {
          throw new SluiceError(
            'INVALID_REQUEST',
            `${found.email} is the only administrator; make another one first.`,
          );
        }
        await audit(queries, actor, {
          at: now(),
          action: 'user.role',
          subject: `user:${userId}`,
          before: { role: found.role },
          after: { role },
        });
        return setUserRole(queries, userId, role);
      });
      return userRow(record);
    },
  };
}

function callerOf(user: UserRecord, via: Caller['via'], tokenId: string | null): Caller {
  return { userId: user.id, email: user.email, name: user.name, role: roleOf(user), via, tokenId };
}

function userRow(user: UserRecord): UserRow {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    role: roleOf(user),
    createdAt: user.createdAt.getTime(),
  };
}

/** The database keeps the list of roles; anything else may do the least. */
function roleOf(user: UserRecord): Role {
  return isRole(user.role) ? user.role : 'viewer';
}
