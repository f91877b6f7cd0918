import type { Actor } from '../db/actor';
import type { AllocationRequest } from './requests';
import type {
  AllocationRow,
  AuditRow,
  Grant,
  HealthReport,
  PoolEvent,
  PoolTelemetry,
  ServerRow,
  TaskRow,
  TelemetrySeries,
} from './views';

/**
 * Everything the edges may ask of the pool. Who may call what is decided
 * before (server/api's ladder), except what depends on ownership, which the
 * pool judges from the actor. All methods throw SluiceError.
 */
export interface PoolService {
  health(): Promise<HealthReport>;

  listServers(): ServerRow[];
  getServer(id: string): ServerRow;
  /** A cordoned server keeps its allocations and gets no new ones. */
  cordonServer(actor: Actor, id: string, cordoned: boolean): Promise<ServerRow>;

  listTasks(filter: { allocationId?: string; active?: boolean; limit?: number }): Promise<TaskRow[]>;

  listAllocations(filter: { active?: boolean; limit?: number }): Promise<AllocationRow[]>;
  getAllocation(id: string): Promise<AllocationRow>;
  /**
   * Finds GPUs, persists the allocation and waits until every worker has it.
   * When `signal` aborts, what was taken is given back.
   */
  requestAllocation(
    actor: Actor,
    request: AllocationRequest,
    signal?: AbortSignal,
  ): Promise<{ allocation: AllocationRow; grant: Grant }>;
  /** A fresh secret for a running allocation; the former one dies. Owner or operator. */
  reissueGrant(actor: Actor, id: string): Promise<{ allocation: AllocationRow; grant: Grant }>;
  /** Moves the lease's end to now + lease. Throws STALE_VERSION when `version` is not the current one. */
  renewAllocation(actor: Actor, id: string, version: number): Promise<AllocationRow>;
  /** Gives it back; answers as soon as that is persisted, the GPU is free when the state is `released`. */
  releaseAllocation(actor: Actor, id: string): Promise<AllocationRow>;
  revokeAllocation(actor: Actor, id: string, reason: string, graceSeconds?: number): Promise<AllocationRow>;

  recentTelemetry(query: { uuids?: string[]; seconds: number }): Promise<TelemetrySeries[]>;
  poolTelemetry(query: { seconds: number }): Promise<PoolTelemetry>;

  /**
   * Changes as they happen, each with an id. Starts after `lastEventId`; when
   * that is absent or too old, with one `resync`. Ends when `signal` aborts.
   */
  events(lastEventId: string | null, signal: AbortSignal): AsyncIterable<{ id: string; event: PoolEvent }>;

  /** Newest first; `cursor` is the id to continue below. */
  listAudit(query: {
    cursor?: number;
    limit?: number;
  }): Promise<{ rows: AuditRow[]; nextCursor: number | null }>;
}
