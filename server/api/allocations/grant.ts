import { z } from 'zod';
import { user } from '../trpc';

/** A fresh grant for an allocation of the caller; programs that already run keep running. */
export const grant = user
  .input(z.object({ id: z.string() }))
  .mutation(({ ctx, input }) => ctx.services.pool.reissueGrant(ctx.actor, input.id));
