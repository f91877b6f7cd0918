import { z } from 'zod';
import { viewer } from '../trpc';

export const recent = viewer
  .input(
    z.object({
      uuids: z.array(z.string()).max(1000).optional(),
      seconds: z
        .number()
        .min(1)
        .max(30 * 86_400),
    }),
  )
  .query(async ({ ctx, input }) => ({ series: await ctx.services.pool.recentTelemetry(input) }));
