import { z } from 'zod';
import { user } from '../trpc';

export const revoke = user
  .input(z.object({ id: z.string() }))
  .mutation(({ ctx, input }) => ctx.services.auth.revokeToken(ctx.actor, ctx.caller, input.id));
