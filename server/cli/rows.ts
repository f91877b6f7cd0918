// Rows of the API as commands print them.
import type { inferRouterOutputs } from '@trpc/server';
import type { AppRouter } from '../api/root';

type Outputs = inferRouterOutputs<AppRouter>;

export type ServerRow = Outputs['servers']['list'][number];
export type GpuRow = ServerRow['gpus'][number];
export type TaskRow = Outputs['tasks']['list'][number];
export type AllocationRow = Outputs['allocations']['list'][number];
