import { z } from 'zod';
import { ROLES } from '../../auth/roles';
import { admin } from '../trpc';

/** Without a password one is made and told here only. */
export const create = admin
  .input(
    z.object({
      email: z.email(),
      name: z.string().min(1).max(100),
      role: z.enum(ROLES),
      password: z.string().min(8).max(128).optional(),
    }),
  )
  .mutation(({ ctx, input }) => ctx.services.auth.createUser(ctx.actor, input));
