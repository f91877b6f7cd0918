import { z } from 'zod';
import { operator } from '../trpc';

export const list = operator
  .input(
    z
      .object({ cursor: z.number().int().optional(), limit: z.number().int().min(1).max(500).optional() })
      .optional(),
  )
  .query(({ ctx, input }) => ctx.services.pool.listAudit(input ?? {}));
