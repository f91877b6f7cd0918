import { z } from 'zod';
import { viewer } from '../trpc';

export const list = viewer
  .input(
    z
      .object({
        allocationId: z.string().optional(),
        active: z.boolean().optional(),
        limit: z.number().int().min(1).max(1000).optional(),
      })
      .optional(),
  )
  .query(({ ctx, input }) => ctx.services.pool.listTasks(input ?? {}));
