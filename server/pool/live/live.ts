import type { GpuSample, ServerToAgent, SessionStats } from '../../../protocol/control/agentMessages';
import type { AllocationRecord } from '../../db/allocations';
import type { ServerRecord } from '../../db/servers';
import type { ErrorCode } from '../../errors';

/** A connection to an agent, whatever carries it. */
export interface AgentLink {
  send(message: ServerToAgent): void;
  /** Ends the connection after telling the agent why. */
  refuse(code: ErrorCode, message: string): void;
}

/** What is known of a server now. It stays when the agent goes away, with `link` null. */
export interface LiveServer {
  record: ServerRecord;
  link: AgentLink | null;
  lastSeenAt: number | null;
  clockSkewMs: number | null;
  worker: 'up' | 'down';
  workerDetail: string | null;
  /** Newest sample of each GPU by UUID; emptied when the agent goes away, since it tells nothing any more. */
  samples: Map<string, { sample: GpuSample; at: number }>;
}

/** A program that runs, as its worker last described it. */
export interface LiveTask {
  id: string;
  serverId: string;
  allocationId: string;
  workerPid: number;
  command: string;
  user: string;
  clientHost: string;
  clientPid: number;
  clientAddress: string | null;
  /** By the server's clock. */
  startedAt: number;
  stats: SessionStats | null;
}

/** The present in memory: rebuilt from database and agents after a restart. */
export class LivePool {
  readonly servers = new Map<string, LiveServer>();
  /** Allocations that have not ended, as last committed. */
  readonly allocations = new Map<string, AllocationRecord>();
  /** Allocations in "releasing": when the agents were last asked, since when, and what was in the way. */
  readonly endings = new Map<string, { since: number; askedAt: number; problem: string | null }>();
  /** Programs that run, by server and id. */
  private readonly tasks = new Map<string, Map<string, LiveTask>>();
  /** By server: workers of programs that ended a moment ago, with when; samples may still show them. */
  private readonly endedPids = new Map<string, Map<number, number>>();

  addTask(task: LiveTask): void {
    const ofServer = this.tasks.get(task.serverId) ?? new Map<string, LiveTask>();
    this.tasks.set(task.serverId, ofServer.set(task.id, task));
  }

  task(serverId: string, id: string): LiveTask | undefined {
    return this.tasks.get(serverId)?.get(id);
  }

  removeTask(serverId: string, id: string, now: number): LiveTask | undefined {
    const task = this.task(serverId, id);
    if (!task) return undefined;
    this.tasks.get(serverId)?.delete(id);
    const pids = this.endedPids.get(serverId) ?? new Map<number, number>();
    for (const [pid, at] of pids) if (now - at > ENDED_PID_KEPT_MS) pids.delete(pid);
    this.endedPids.set(serverId, pids.set(task.workerPid, now));
    return task;
  }

  allTasks(): LiveTask[] {
    return [...this.tasks.values()].flatMap((ofServer) => [...ofServer.values()]);
  }

  tasksOfServer(serverId: string): LiveTask[] {
    return [...(this.tasks.get(serverId)?.values() ?? [])];
  }

  tasksOfAllocation(allocationId: string): LiveTask[] {
    return this.allTasks().filter((task) => task.allocationId === allocationId);
  }

  /** The worker of this process id belongs, or did a moment ago, to a program of the pool. */
  isOurPid(serverId: string, pid: number): boolean {
    return (
      this.endedPids.get(serverId)?.has(pid) === true ||
      this.tasksOfServer(serverId).some((task) => task.workerPid === pid)
    );
  }

  /** The connected server that has this GPU now. */
  serverOfGpu(uuid: string): LiveServer | undefined {
    for (const server of this.servers.values()) {
      if (server.record.gpus.some((gpu) => gpu.uuid === uuid)) return server;
    }
    return undefined;
  }

  /** Servers that have a GPU of this allocation, each with the UUIDs it has. */
  serversOfAllocation(record: AllocationRecord): Map<string, string[]> {
    const servers = new Map<string, string[]>();
    for (const { gpuUuid, gpu } of record.gpus) {
      servers.set(gpu.serverId, [...(servers.get(gpu.serverId) ?? []), gpuUuid]);
    }
    return servers;
  }

  /** Unfinished allocations that have a GPU of this server. */
  allocationsOfServer(serverId: string): AllocationRecord[] {
    return [...this.allocations.values()].filter((a) =>
      a.gpus.some((held) => held.gpu.serverId === serverId),
    );
  }
}

/** Longer than the time between two samples, so that none is taken for a stranger's. */
const ENDED_PID_KEPT_MS = 10_000;
