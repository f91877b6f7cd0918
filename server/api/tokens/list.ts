import { user } from '../trpc';

/** An administrator sees all tokens, others their own. */
export const list = user.query(({ ctx }) => ctx.services.auth.listTokens(ctx.caller));
