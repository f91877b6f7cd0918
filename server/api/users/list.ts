import { admin } from '../trpc';

export const list = admin.query(({ ctx }) => ctx.services.auth.listUsers());
