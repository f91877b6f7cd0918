import { authenticated } from '../trpc';

export const me = authenticated.query(({ ctx }) => ({ ...ctx.caller, version: ctx.services.version }));
