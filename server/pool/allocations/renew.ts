import { updateAllocation } from '../../db/allocations';
import { SluiceError } from '../../errors';
import type { Actor } from '../../db/actor';
import type { PoolContext } from '../context';
import { allocationRow } from '../live/rows';
import { asState, hasLease } from '../states';
import type { AllocationRow } from '../views';
import { requireAllocation, requireOwner } from './access';
import { committed } from './transition';

/**
 * Moves the end of the lease to now + lease. A renewal is no transition and
 * keeps the version, so that renewals by live programs do not make the holder's stale.
 */
export async function renewAllocation(
  ctx: PoolContext,
  actor: Actor,
  id: string,
  version: number | null,
): Promise<AllocationRow> {
  const record = await ctx.db.exclusive(async (queries) => {
    const found = await requireAllocation(queries, id);
    requireOwner(actor, found);
    if (!hasLease(asState(found.state))) {
      throw new SluiceError(
        'ALLOCATION_NOT_ACTIVE',
        `The allocation ${id} is ${found.state}${because(found.reason)}.`,
        {
          hint: 'Ask for a new one.',
        },
      );
    }
    if (version !== null && version !== found.version) {
      throw new SluiceError(
        'STALE_VERSION',
        `The allocation ${id} is at version ${found.version}, not ${version}: its grant was issued anew meanwhile.`,
      );
    }
    return updateAllocation(queries, id, {
      leaseExpiresAt: new Date(ctx.clock.now() + found.leaseSeconds * 1000),
    });
  });
  return allocationRow(ctx.live, committed(ctx, record));
}

function because(reason: string | null): string {
  return reason ? `: ${reason}` : '';
}
