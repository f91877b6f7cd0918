import type { User } from './client/client';
import type { Queries } from './database';
import type { Role } from './roles';

export type UserRecord = User;

export function findUsers(queries: Queries): Promise<UserRecord[]> {
  return queries.user.findMany({ orderBy: { email: 'asc' } });
}

export function findUser(queries: Queries, id: string): Promise<UserRecord | null> {
  return queries.user.findUnique({ where: { id } });
}

export function findUserByEmail(queries: Queries, email: string): Promise<UserRecord | null> {
  return queries.user.findUnique({ where: { email } });
}

export function countUsers(queries: Queries): Promise<number> {
  return queries.user.count();
}

export function countAdmins(queries: Queries): Promise<number> {
  return queries.user.count({ where: { role: 'admin' } });
}

export function setUserRole(queries: Queries, id: string, role: Role): Promise<UserRecord> {
  return queries.user.update({ where: { id }, data: { role } });
}

/** A user with a password, as better-auth's "credential" account keeps it. */
export function insertUser(
  queries: Queries,
  user: { id: string; email: string; name: string; role: Role; passwordHash: string; accountId: string },
): Promise<UserRecord> {
  const { id, email, name, role } = user;
  return queries.user.create({
    data: {
      id,
      email,
      name,
      role,
      emailVerified: true,
      accounts: {
        create: { id: user.accountId, accountId: id, providerId: 'credential', password: user.passwordHash },
      },
    },
  });
}
