// The listener's control socket: one JSON object per line, both ways. The worker
// is older or newer than the agent after an upgrade, so unknown fields are ignored.
import { z } from 'zod';

const count = z.number().nonnegative();

/** What the listener needs to serve an allocation. memoryBytes null: the whole GPU. */
export const workerGrant = z.object({
  allocation: z.string().min(1),
  storedKey: z.string().regex(/^[0-9a-f]{64}$/),
  gpus: z.array(z.object({ uuid: z.string().min(1), memoryBytes: count.nullable() })).min(1),
});

export const workerSession = z.object({
  id: z.string().min(1),
  allocation: z.string().min(1),
  pid: z.number().int(),
  client: z.object({
    command: z.string(),
    user: z.string(),
    host: z.string(),
    pid: z.number().int(),
    address: z.string().nullable().default(null),
  }),
  startedMs: z.number(),
});

export const workerSessionStats = z.object({
  id: z.string().min(1),
  gpus: z.array(z.object({ uuid: z.string(), usedBytes: count })),
  launches: count,
  roundTrips: count,
  bytesIn: count,
  bytesOut: count,
  calls: count,
  lastCallMs: z.number().nullable().default(null),
  peakBytes: count,
});

const ready = z.object({
  type: z.literal('ready'),
  pid: z.number().int(),
  address: z.string(),
  protocol: z.unknown(),
  driver: z.string(),
  driverVersion: z.number().nullable().default(null),
  /** Why the driver cannot be used; null when it can. */
  driverError: z.string().nullable().default(null),
  grants: z.array(z.string()),
  sessions: z.array(workerSession),
});

const sessionEnded = z.object({
  type: z.literal('session_ended'),
  id: z.string().min(1),
  allocation: z.string().min(1),
  how: z.enum(['closed', 'revoked', 'killed', 'crashed', 'refused']),
  detail: z.string().nullable().default(null),
  peakBytes: count.nullable().default(null),
  calls: count.nullable().default(null),
  launches: count.nullable().default(null),
  roundTrips: count.nullable().default(null),
  bytesIn: count.nullable().default(null),
  bytesOut: count.nullable().default(null),
});

/** Lines from the listener. The first after a connect is `ready`. */
export const fromWorker = z.discriminatedUnion('type', [
  ready,
  sessionEnded,
  z.object({ type: z.literal('granted'), allocation: z.string() }),
  z.object({ type: z.literal('grant_failed'), allocation: z.string(), message: z.string() }),
  z.object({ type: z.literal('ended'), allocation: z.string() }),
  z.object({ type: z.literal('session_started'), session: workerSession }),
  z.object({ type: z.literal('stats'), sessions: z.array(workerSessionStats) }),
  z.object({ type: z.literal('refused'), address: z.string(), reason: z.string() }),
  z.object({ type: z.literal('log'), level: z.string(), message: z.string() }),
]);

export type WorkerGrant = z.infer<typeof workerGrant>;
export type WorkerSession = z.infer<typeof workerSession>;
export type WorkerSessionStats = z.infer<typeof workerSessionStats>;
export type WorkerReady = z.infer<typeof ready>;
export type WorkerSessionEnded = z.infer<typeof sessionEnded>;
export type FromWorker = z.infer<typeof fromWorker>;

/** Lines to the listener. `grants` is the full set: allocations that it does not name are ended. */
export type ToWorker =
  | { type: 'grants'; grants: WorkerGrant[] }
  | { type: 'grant'; grant: WorkerGrant }
  | { type: 'end'; allocation: string; reason: string; graceMs: number }
  | { type: 'shutdown' };
