import { z } from 'zod';
import { viewer } from '../trpc';

export const pool = viewer
  .input(
    z.object({
      seconds: z
        .number()
        .min(1)
        .max(30 * 86_400),
    }),
  )
  .query(({ ctx, input }) => ctx.services.pool.poolTelemetry(input));
