// Rows as the API, the event stream and the dashboard see them. Times are
// milliseconds of the server's clock; absent values are null.

export type ServerState = 'ready' | 'cordoned' | 'unreachable' | 'joining';

export interface ServerRow {
  id: string;
  hostname: string;
  /** host:port of the data plane, as clients reach it. */
  address: string;
  state: ServerState;
  connected: boolean;
  lastSeenAt: number | null;
  driverVersion: string | null;
  cudaVersion: string | null;
  agentVersion: string | null;
  /** Agent's clock minus the server's at the last hello; shown, never acted on. */
  clockSkewMs: number | null;
  tls: boolean;
  taskCount: number;
  /** What keeps the server from serving, in words; null when nothing does. */
  problem: string | null;
  gpus: GpuRow[];
}

export interface GpuRow {
  uuid: string;
  index: number;
  name: string;
  serverId: string;
  computeCapability: string | null;
  software: boolean;
  memoryTotalMib: number;
  memoryUsedMib: number | null;
  memoryFreeMib: number | null;
  memoryReservedMib: number | null;
  /** Sum of what allocations hold; the total when one holds the whole GPU. */
  grantedMib: number;
  utilizationPercent: number | null;
  powerWatts: number | null;
  temperatureCelsius: number | null;
  health: 'ok' | 'unhealthy' | 'unknown';
  allocations: { id: string; userEmail: string; memoryMib: number | null }[];
  processes: GpuProcessRow[];
}

export interface GpuProcessRow {
  pid: number;
  name: string | null;
  usedMib: number | null;
  /** The task this process serves; null for a process that the pool did not start. */
  taskId: string | null;
}

export type TaskEnd = 'closed' | 'revoked' | 'killed' | 'crashed' | 'refused';

export interface TaskRow {
  id: string;
  allocationId: string;
  serverId: string;
  serverAddress: string;
  command: string;
  user: string;
  clientHost: string;
  clientPid: number;
  clientAddress: string | null;
  gpus: { uuid: string; usedBytes: number }[];
  usedMib: number;
  peakMib: number;
  calls: number;
  launches: number;
  roundTrips: number;
  bytesIn: number;
  bytesOut: number;
  startedAt: number;
  endedAt: number | null;
  how: TaskEnd | null;
  detail: string | null;
}

export type AllocationState =
  'queued' | 'granted' | 'active' | 'releasing' | 'released' | 'expired' | 'revoked' | 'failed';

export interface AllocationRow {
  id: string;
  state: AllocationState;
  version: number;
  userId: string | null;
  userEmail: string;
  purpose: string | null;
  gpus: {
    uuid: string;
    serverId: string;
    serverAddress: string;
    name: string;
    /** null: the whole GPU. */
    memoryMib: number | null;
    index: number;
  }[];
  createdAt: number;
  leaseSeconds: number;
  leaseExpiresAt: number | null;
  endedAt: number | null;
  /** Why it is ending or has ended. */
  reason: string | null;
  /** Programs that run under it now. */
  sessions: number;
}

/** What a program needs to use an allocation; the value of SLUICE_GRANT. */
export interface Grant {
  version: 1;
  allocation: string;
  /** 32 random bytes in hex, told once. */
  secret: string;
  tls: boolean;
  servers: {
    address: string;
    fingerprint: string;
    gpus: { uuid: string; memoryMib: number | null }[];
  }[];
}

export interface HealthFinding {
  id: string;
  severity: 'ok' | 'warning' | 'fatal';
  title: string;
  detail: string;
  action: string | null;
}

export interface HealthReport {
  /** False when at least one finding is fatal. */
  ok: boolean;
  findings: HealthFinding[];
}

export interface TelemetryPoint {
  /** Arrival time. */
  t: number;
  utilizationPercent: number | null;
  memoryUsedMib: number | null;
  powerWatts: number | null;
  temperatureCelsius: number | null;
}

export interface TelemetrySeries {
  uuid: string;
  points: TelemetryPoint[];
}

export interface PoolTelemetry {
  points: {
    t: number;
    /** Mean over the GPUs that tell; null when none does. */
    utilizationPercent: number | null;
    memoryUsedMib: number | null;
    memoryTotalMib: number | null;
    gpuCount: number;
  }[];
}

export type PoolEvent =
  | { kind: 'telemetry'; series: { uuid: string; point: TelemetryPoint }[] }
  | { kind: 'servers'; servers: ServerRow[] }
  | { kind: 'allocations'; allocations: AllocationRow[] }
  | { kind: 'tasks'; tasks: TaskRow[] }
  /** Everything, sent first and whenever a listener missed more than is kept. */
  | { kind: 'resync'; servers: ServerRow[]; allocations: AllocationRow[]; tasks: TaskRow[] };

export interface AuditRow {
  id: number;
  at: number;
  actorKind: string;
  actorName: string;
  address: string | null;
  action: string;
  subject: string;
  before: unknown;
  after: unknown;
  reason: string | null;
}
