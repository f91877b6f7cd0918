import type { AppRouter } from '@/server/api/root';
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server';

type Outputs = inferRouterOutputs<AppRouter>;
type Inputs = inferRouterInputs<AppRouter>;

/** A GPU server with its GPUs as the pool sees them now. */
export type ServerRow = Outputs['servers']['list'][number];
/** One GPU. Memory in MiB; null means that the device does not tell. */
export type GpuRow = ServerRow['gpus'][number];
/** One program's connection to the pool, live or finished. */
export type TaskRow = Outputs['tasks']['list'][number];
export type AllocationRow = Outputs['allocations']['list'][number];
export type AllocationRequest = Inputs['allocations']['request'];
export type HealthReport = Outputs['health']['report'];
export type TelemetrySeries = Outputs['telemetry']['recent']['series'][number];
export type TelemetryPoint = TelemetrySeries['points'][number];
export type Me = Outputs['auth']['me'];

type Streamed<T> = T extends AsyncIterable<infer Item> ? Item : never;
/** What the server pushes: full rows of what changed. */
export type LiveEvent = Streamed<Outputs['events']['stream']> extends { data: infer Data } ? Data : never;
