import { Prisma, type AuditEvent } from './client/client';
import type { Queries } from './database';

/** One change for the audit log. `before` and `after` hold what changed, never secrets. */
export interface AuditEntry {
  at: Date;
  actorKind: string;
  actorId: string | null;
  actorName: string;
  address: string | null;
  action: string;
  subject: string;
  before: Prisma.InputJsonObject | null;
  after: Prisma.InputJsonObject | null;
  reason: string | null;
}

export async function addAudit(queries: Queries, entry: AuditEntry): Promise<void> {
  await queries.auditEvent.create({
    data: { ...entry, before: entry.before ?? Prisma.DbNull, after: entry.after ?? Prisma.DbNull },
  });
}

/** Newest first, below `cursor` when it is given. */
export function findAudit(queries: Queries, cursor: number | null, limit: number): Promise<AuditEvent[]> {
  return queries.auditEvent.findMany({
    where: cursor === null ? {} : { id: { lt: cursor } },
    orderBy: { id: 'desc' },
    take: limit,
  });
}
