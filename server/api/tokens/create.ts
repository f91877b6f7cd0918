import { z } from 'zod';
import { SluiceError } from '../../errors';
import { user } from '../trpc';

/** A token for oneself, or, as administrator, one with which an agent joins. The secret is told here only. */
export const create = user
  .input(
    z.object({
      name: z.string().min(1).max(100),
      kind: z.enum(['user', 'agent']),
      expiresAt: z.number().nullish(),
    }),
  )
  .mutation(({ ctx, input }) => {
    if (input.kind === 'agent' && ctx.caller.role !== 'admin') {
      throw new SluiceError('ROLE_REQUIRED', 'Only an administrator makes tokens for agents.');
    }
    return ctx.services.auth.createToken(ctx.actor, { ...input, userId: ctx.caller.userId });
  });
