import { z } from 'zod';
import { operator } from '../trpc';

export const revoke = operator
  .input(
    z.object({
      id: z.string(),
      reason: z.string().min(1, 'say why, the program’s user will read it').max(500),
      graceSeconds: z.number().min(0).max(3600).optional(),
    }),
  )
  .mutation(({ ctx, input }) =>
    ctx.services.pool.revokeAllocation(ctx.actor, input.id, input.reason, input.graceSeconds),
  );
