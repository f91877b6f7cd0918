import { viewer } from '../trpc';

export const report = viewer.query(({ ctx }) => ctx.services.pool.health());
