import { z } from 'zod';
import { operator } from '../trpc';

export const cordon = operator
  .input(z.object({ id: z.string(), cordoned: z.boolean() }))
  .mutation(({ ctx, input }) => ctx.services.pool.cordonServer(ctx.actor, input.id, input.cordoned));
