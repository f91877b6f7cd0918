import { Prisma, type AuditEvent } from './client/client';
import type { Actor } from './actor';
import type { Queries } from './database';

/** One change for the audit log. `before` and `after` hold what changed, never secrets. */
export interface Change {
  at: number;
  action: string;
  /** "allocation:<id>", "server:<id>", "token:<id>" or "user:<id>" */
  subject: string;
  before?: Prisma.InputJsonObject;
  after?: Prisma.InputJsonObject;
  reason?: string | null;
}

/** Writes a change into the audit log, in the transaction that makes the change. */
export async function audit(queries: Queries, actor: Actor, change: Change): Promise<void> {
  await queries.auditEvent.create({
    data: {
      at: new Date(change.at),
      actorKind: actor.kind,
      actorId: actor.id,
      actorName: actor.name,
      address: actor.address,
      action: change.action,
      subject: change.subject,
      before: change.before ?? Prisma.DbNull,
      after: change.after ?? Prisma.DbNull,
      reason: change.reason ?? null,
    },
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
