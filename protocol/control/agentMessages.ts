// Messages between an agent and the control plane over the WebSocket /agent,
// one JSON object each. Both sides parse what arrives with these schemas, so a
// message that does not fit is refused with the path of the wrong field.
// Absent values are null, never left out and never 0.
import { z } from 'zod';

export const AGENT_PROTOCOL_VERSION = 1;

const mib = z.number().nonnegative();
const count = z.number().int().nonnegative();

/** One GPU as NVML describes it; fixed while the agent runs. */
export const gpuInventory = z.object({
  uuid: z.string().min(1),
  index: z.number().int().nonnegative(),
  name: z.string(),
  memoryTotalMib: mib,
  computeCapability: z.string().nullable(),
  pciBusId: z.string().nullable(),
  software: z.boolean(),
});

/** A program connected to the worker. Times are the agent's clock, for display only. */
export const sessionRecord = z.object({
  id: z.string().min(1),
  allocationId: z.string().min(1),
  workerPid: z.number().int(),
  command: z.string(),
  user: z.string(),
  clientHost: z.string(),
  clientPid: z.number().int(),
  clientAddress: z.string().nullable(),
  startedAtMs: z.number(),
});

/** Counters of a live session since its start. */
export const sessionStats = z.object({
  id: z.string().min(1),
  gpus: z.array(z.object({ uuid: z.string(), usedBytes: count })),
  peakBytes: count,
  calls: count,
  launches: count,
  roundTrips: count,
  bytesIn: count,
  bytesOut: count,
  lastCallMs: z.number().nullable(),
});

/** One sample of one GPU. null: the device or driver does not tell. */
export const gpuSample = z.object({
  uuid: z.string().min(1),
  memoryTotalMib: mib.nullable(),
  memoryUsedMib: mib.nullable(),
  memoryFreeMib: mib.nullable(),
  memoryReservedMib: mib.nullable(),
  utilizationPercent: z.number().min(0).max(100).nullable(),
  powerWatts: z.number().nullable(),
  temperatureCelsius: z.number().nullable(),
  processes: z.array(
    z.object({ pid: z.number().int(), name: z.string().nullable(), usedMib: mib.nullable() }),
  ),
});

/** What a worker must know to serve an allocation. The secret itself never leaves the client's grant. */
export const agentGrant = z.object({
  allocationId: z.string().min(1),
  version: z.number().int(),
  storedKey: z.string().regex(/^[0-9a-f]{64}$/),
  gpus: z.array(z.object({ uuid: z.string().min(1), memoryMib: mib.nullable() })).min(1),
});

/** Evidence that a GPU is free of an allocation: no process of it left, memory back. */
export const freedGpu = z.object({
  uuid: z.string().min(1),
  processesLeft: count,
  memoryUsedMibBefore: mib.nullable(),
  memoryUsedMibAfter: mib.nullable(),
});

export const agentToServer = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('hello'),
    protocol: z.number().int(),
    agentId: z.string().min(1),
    agentVersion: z.string(),
    machineId: z.string().nullable(),
    hostname: z.string(),
    dataAddress: z.string(),
    certificateFingerprint: z.string(),
    tls: z.boolean(),
    driverVersion: z.string().nullable(),
    cudaVersion: z.string().nullable(),
    clockMs: z.number(),
    gpus: z.array(gpuInventory),
    allocationIds: z.array(z.string()),
    sessions: z.array(sessionRecord),
  }),
  z.object({ type: z.literal('telemetry'), gpus: z.array(gpuSample), sessions: z.array(sessionStats) }),
  z.object({ type: z.literal('grantReady'), allocationId: z.string(), version: z.number().int() }),
  z.object({
    type: z.literal('grantFailed'),
    allocationId: z.string(),
    version: z.number().int(),
    reason: z.string(),
  }),
  z.object({ type: z.literal('sessionStarted'), session: sessionRecord }),
  z.object({
    type: z.literal('sessionEnded'),
    id: z.string(),
    allocationId: z.string(),
    how: z.enum(['closed', 'revoked', 'killed', 'crashed', 'refused']),
    detail: z.string().nullable(),
    peakBytes: count.nullable(),
    calls: count.nullable(),
    launches: count.nullable(),
    roundTrips: count.nullable(),
    bytesIn: count.nullable(),
    bytesOut: count.nullable(),
  }),
  z.object({
    type: z.literal('released'),
    allocationId: z.string(),
    version: z.number().int(),
    gpus: z.array(freedGpu),
  }),
  z.object({
    type: z.literal('releaseFailed'),
    allocationId: z.string(),
    version: z.number().int(),
    reason: z.string(),
  }),
  z.object({ type: z.literal('health'), worker: z.enum(['up', 'down']), detail: z.string().nullable() }),
]);

export const serverToAgent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('welcome'), serverVersion: z.string(), heartbeatSeconds: z.number() }),
  z.object({ type: z.literal('refused'), code: z.string(), message: z.string() }),
  /** The full truth after a (re)connect: allocations that must exist here; all others are to be ended. */
  z.object({ type: z.literal('grants'), grants: z.array(agentGrant) }),
  z.object({ type: z.literal('grant'), grant: agentGrant }),
  z.object({
    type: z.literal('end'),
    allocationId: z.string(),
    version: z.number().int(),
    reason: z.string(),
    graceMs: count,
  }),
]);

export type GpuInventory = z.infer<typeof gpuInventory>;
export type GpuSample = z.infer<typeof gpuSample>;
export type SessionRecord = z.infer<typeof sessionRecord>;
export type SessionStats = z.infer<typeof sessionStats>;
export type AgentGrant = z.infer<typeof agentGrant>;
export type FreedGpu = z.infer<typeof freedGpu>;
export type AgentToServer = z.infer<typeof agentToServer>;
export type ServerToAgent = z.infer<typeof serverToAgent>;
