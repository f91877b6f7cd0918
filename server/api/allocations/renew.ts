import { z } from 'zod';
import { user } from '../trpc';

export const renew = user
  .input(z.object({ id: z.string(), version: z.number().int() }))
  .mutation(({ ctx, input }) => ctx.services.pool.renewAllocation(ctx.actor, input.id, input.version));
