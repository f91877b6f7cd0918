import { z } from 'zod';
import { ROLES } from '../../auth/roles';
import { admin } from '../trpc';

export const setRole = admin
  .input(z.object({ id: z.string(), role: z.enum(ROLES) }))
  .mutation(({ ctx, input }) => ctx.services.auth.setRole(ctx.actor, input.id, input.role));
