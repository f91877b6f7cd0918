// What the control plane wants on this host, and what the worker has been told of it.
//
//   grant ──► held ──► (worker accepts) grantReady        end ──► releasing ──► released | releaseFailed
//                 └──► (worker refuses) grantFailed
import type { AgentGrant, AgentToServer, GpuSample } from '../../protocol/control/agentMessages';
import type { Logger } from '../log';
import { GrantRefusedError, WorkerGoneError } from '../proxy/workerControl';
import type { WorkerGrant } from '../proxy/controlMessages';
import { releaseAllocation, type ReleaseTools } from './release';
import type { Sessions } from './sessions';

export interface AllocationTools extends ReleaseTools {
  /** False: the server is away. */
  readonly send: (message: AgentToServer) => boolean;
  /** Shows the server a sample at once, so that free memory is true when the release is. */
  readonly publish: (samples: GpuSample[]) => void;
  readonly sessions: Sessions;
  /** All GPUs of this host. */
  readonly uuids: readonly string[];
  readonly log: Logger;
}

interface Releasing {
  version: number;
  graceMs: number;
  readonly pids: Set<number>;
}

type EndMessage = { allocationId: string; version: number; reason: string; graceMs: number };

const bytesPerMib = 1024 * 1024;
const grantTimeoutMs = 20_000;

export class Allocations {
  private readonly held = new Map<string, AgentGrant>();
  private readonly releasing = new Map<string, Releasing>();
  /** Ends of releases that the server was not there to hear. */
  private readonly unsent = new Map<string, AgentToServer>();
  /** Of a former agent, on a worker that this one adopted; judged when the server has told what must exist. */
  private readonly found = new Set<string>();
  /** False until the server has told what must exist: until then nothing is ended. */
  private told = false;

  constructor(private readonly tools: AllocationTools) {}

  /** Ids of the allocations that this host serves or is ending, for the hello. */
  get ids(): string[] {
    return [...new Set([...this.held.keys(), ...this.releasing.keys(), ...this.found])];
  }

  /** The full truth of the server: what it does not name is ended, what it names is (again) given to the worker. */
  onGrants(grants: readonly AgentGrant[]): void {
    const wanted = new Set(grants.map((grant) => grant.allocationId));
    const running = this.tools.sessions.all.map((session) => session.allocationId);
    const here = new Set([...this.ids, ...running]);
    this.found.clear();
    this.told = true;
    for (const [id, message] of this.unsent) {
      this.unsent.delete(id);
      if (!wanted.has(id)) this.report(id, message);
    }
    for (const allocationId of here) {
      if (!wanted.has(allocationId) && !this.releasing.has(allocationId)) this.endUnknown(allocationId);
    }
    for (const grant of grants) this.onGrant(grant);
  }

  onGrant(grant: AgentGrant): void {
    this.held.set(grant.allocationId, grant);
    void this.install(grant);
  }

  onEnd(end: EndMessage): void {
    const current = this.releasing.get(end.allocationId);
    if (current === undefined) return void this.release(end);
    current.version = end.version;
    if (end.graceMs < current.graceMs) {
      current.graceMs = end.graceMs;
      void this.hasten(end);
    }
  }

  /** A worker is connected: it is told every grant again, and what else it serves is ended. */
  onWorkerUp(serves: readonly string[]): void {
    for (const grant of this.held.values()) void this.install(grant);
    for (const allocationId of serves) {
      if (this.held.has(allocationId) || this.releasing.has(allocationId)) continue;
      if (this.told) this.endUnknown(allocationId);
      else this.found.add(allocationId);
    }
  }

  /** A session that begins while its allocation is being ended counts for the proof as well. */
  onSessionStarted(allocationId: string, pid: number): void {
    this.releasing.get(allocationId)?.pids.add(pid);
  }

  private endUnknown(allocationId: string): void {
    const version = this.held.get(allocationId)?.version ?? 0;
    this.onEnd({
      allocationId,
      version,
      reason: 'The control plane no longer has this allocation.',
      graceMs: 0,
    });
  }

  private async install(grant: AgentGrant): Promise<void> {
    const { allocationId, version } = grant;
    try {
      const control = await this.tools.worker(grantTimeoutMs);
      await control.grant(toWorkerGrant(grant));
      if (this.held.get(allocationId) === grant)
        this.tools.send({ type: 'grantReady', allocationId, version });
    } catch (error) {
      // The next worker is told it again.
      if (error instanceof WorkerGoneError || this.held.get(allocationId) !== grant) return;
      const reason = error instanceof Error ? error.message : String(error);
      this.tools.log.warn(
        { allocationId, refused: error instanceof GrantRefusedError },
        `cannot serve the allocation: ${reason}`,
      );
      this.held.delete(allocationId);
      this.tools.send({ type: 'grantFailed', allocationId, version, reason });
    }
  }

  /** An end that is under way gets a shorter grace; whoever began it hears when it is done. */
  private async hasten({ allocationId, reason, graceMs }: EndMessage): Promise<void> {
    try {
      await (await this.tools.worker(grantTimeoutMs)).end(allocationId, reason, graceMs);
    } catch (error) {
      this.tools.log.debug({ allocationId, error }, 'the worker could not be told of the shorter grace');
    }
  }

  private async release(end: EndMessage): Promise<void> {
    const { allocationId, reason, graceMs } = end;
    const grant = this.held.get(allocationId);
    this.held.delete(allocationId);
    const pids = new Set(this.tools.sessions.of(allocationId).map((session) => session.workerPid));
    const entry: Releasing = { version: end.version, graceMs, pids };
    this.releasing.set(allocationId, entry);
    // After a restart of the agent nobody here knows the GPUs of a former grant: all are judged.
    const uuids = grant?.gpus.map((gpu) => gpu.uuid) ?? this.tools.uuids;
    const result = await releaseAllocation(this.tools, { allocationId, reason, graceMs, uuids, pids });
    this.releasing.delete(allocationId);
    const { version } = entry;
    if (result.released) {
      this.tools.publish(result.samples);
      this.report(allocationId, { type: 'released', allocationId, version, gpus: result.gpus });
    } else {
      this.tools.log.error({ allocationId }, `the allocation's GPUs are not free: ${result.reason}`);
      this.report(allocationId, { type: 'releaseFailed', allocationId, version, reason: result.reason });
    }
  }

  private report(allocationId: string, message: AgentToServer): void {
    if (!this.tools.send(message)) this.unsent.set(allocationId, message);
  }
}

function toWorkerGrant(grant: AgentGrant): WorkerGrant {
  return {
    allocation: grant.allocationId,
    storedKey: grant.storedKey,
    gpus: grant.gpus.map(({ uuid, memoryMib }) => ({
      uuid,
      memoryBytes: memoryMib === null ? null : Math.floor(memoryMib * bytesPerMib),
    })),
  };
}
