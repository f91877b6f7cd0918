import { findAllocation, type AllocationRecord } from '../../db/allocations';
import type { Queries } from '../../db/database';
import { roleIncludes } from '../../db/roles';
import { SluiceError } from '../../errors';
import type { Actor } from '../../db/actor';

/** @throws ALLOCATION_NOT_FOUND */
export async function requireAllocation(queries: Queries, id: string): Promise<AllocationRecord> {
  const record = await findAllocation(queries, id);
  if (!record) throw new SluiceError('ALLOCATION_NOT_FOUND', `There is no allocation ${id}.`);
  return record;
}

/** The owner, an operator or the system itself may change an allocation. @throws ROLE_REQUIRED */
export function requireOwner(actor: Actor, record: AllocationRecord): void {
  if (actor.kind === 'system' || (actor.id !== null && actor.id === record.userId)) return;
  if (actor.role !== null && roleIncludes(actor.role, 'operator')) return;
  throw new SluiceError('ROLE_REQUIRED', `The allocation ${record.id} belongs to ${record.userEmail}.`, {
    hint: 'Its owner or an operator can do this.',
  });
}
