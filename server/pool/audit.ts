import { addAudit, type AuditEntry } from '../db/audit';
import type { Queries } from '../db/database';
import type { Actor } from './actor';

export interface Change {
  at: number;
  action: string;
  subject: string;
  before?: AuditEntry['before'];
  after?: AuditEntry['after'];
  reason?: string | null;
}

/** Writes a change into the audit log, in the transaction that makes the change. */
export function audit(queries: Queries, actor: Actor, change: Change): Promise<void> {
  return addAudit(queries, {
    at: new Date(change.at),
    actorKind: actor.kind,
    actorId: actor.id,
    actorName: actor.name,
    address: actor.address,
    action: change.action,
    subject: change.subject,
    before: change.before ?? null,
    after: change.after ?? null,
    reason: change.reason ?? null,
  });
}
