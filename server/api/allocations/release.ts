import { z } from 'zod';
import { user } from '../trpc';

export const release = user
  .input(z.object({ id: z.string() }))
  .mutation(({ ctx, input }) => ctx.services.pool.releaseAllocation(ctx.actor, input.id));
