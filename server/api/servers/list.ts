import { viewer } from '../trpc';

export const list = viewer.query(({ ctx }) => ctx.services.pool.listServers());
