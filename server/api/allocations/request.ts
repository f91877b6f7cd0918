import { allocationRequest } from '../../pool/requests';
import { user } from '../trpc';

/** The secret in `grant` is told here and never again. */
export const request = user
  .input(allocationRequest)
  .mutation(({ ctx, input, signal }) => ctx.services.pool.requestAllocation(ctx.actor, input, signal));
