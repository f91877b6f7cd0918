import { z } from 'zod';
import { viewer } from '../trpc';

export const get = viewer
  .input(z.object({ id: z.string() }))
  .query(({ ctx, input }) => ctx.services.pool.getAllocation(input.id));
