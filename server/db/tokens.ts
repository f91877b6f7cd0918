import type { Prisma } from './client/client';
import type { Queries } from './database';

const withUser = { user: true } satisfies Prisma.ApiTokenInclude;

export type TokenRecord = Prisma.ApiTokenGetPayload<{ include: typeof withUser }>;

export function findTokenByHash(queries: Queries, hash: string): Promise<TokenRecord | null> {
  return queries.apiToken.findUnique({ where: { hash }, include: withUser });
}

export function findToken(queries: Queries, id: string): Promise<TokenRecord | null> {
  return queries.apiToken.findUnique({ where: { id }, include: withUser });
}

export function findTokens(queries: Queries, userId: string | null): Promise<TokenRecord[]> {
  return queries.apiToken.findMany({
    where: userId === null ? {} : { userId },
    include: withUser,
    orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
  });
}

export function insertToken(
  queries: Queries,
  data: Prisma.ApiTokenUncheckedCreateInput,
): Promise<TokenRecord> {
  return queries.apiToken.create({ data, include: withUser });
}

export function revokeToken(queries: Queries, id: string, at: Date): Promise<TokenRecord> {
  return queries.apiToken.update({ where: { id }, data: { revokedAt: at }, include: withUser });
}

export async function setTokenUsed(queries: Queries, id: string, at: Date): Promise<void> {
  await queries.apiToken.update({ where: { id }, data: { lastUsedAt: at } });
}
