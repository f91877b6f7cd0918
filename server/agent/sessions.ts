// The programs that are connected to the worker now, and their last figures.
import type { AgentToServer, SessionRecord, SessionStats } from '../../protocol/control/agentMessages';
import type { WorkerSession, WorkerSessionEnded, WorkerSessionStats } from '../proxy/controlMessages';

type SessionEnded = Extract<AgentToServer, { type: 'sessionEnded' }>;

export class Sessions {
  private readonly records = new Map<string, SessionRecord>();
  private readonly figures = new Map<string, SessionStats>();

  /** Notes a session and answers its record. */
  started(session: WorkerSession): SessionRecord {
    const record: SessionRecord = {
      id: session.id,
      allocationId: session.allocation,
      workerPid: session.pid,
      command: session.client.command,
      user: session.client.user,
      clientHost: session.client.host,
      clientPid: session.client.pid,
      clientAddress: session.client.address,
      startedAtMs: session.startedMs,
    };
    this.records.set(record.id, record);
    return record;
  }

  /** Notes figures; those of sessions that are unknown or over are dropped. */
  counted(stats: readonly WorkerSessionStats[]): void {
    for (const entry of stats) {
      if (this.records.has(entry.id)) this.figures.set(entry.id, entry);
    }
  }

  /** Forgets a session and answers what to tell of its end. */
  ended(end: WorkerSessionEnded): SessionEnded {
    const last = this.figures.get(end.id) ?? null;
    this.forget(end.id);
    return {
      type: 'sessionEnded',
      id: end.id,
      allocationId: end.allocation,
      how: end.how,
      detail: end.detail,
      peakBytes: end.peakBytes ?? last?.peakBytes ?? null,
      calls: end.calls ?? last?.calls ?? null,
      launches: end.launches ?? last?.launches ?? null,
      roundTrips: end.roundTrips ?? last?.roundTrips ?? null,
      bytesIn: end.bytesIn ?? last?.bytesIn ?? null,
      bytesOut: end.bytesOut ?? last?.bytesOut ?? null,
    };
  }

  /**
   * Takes over what a worker says is running after a connect. Sessions that it does not name are over; answers
   * what to tell of their end.
   */
  replaced(sessions: readonly WorkerSession[]): SessionEnded[] {
    const alive = new Set(sessions.map((session) => session.id));
    const over = [...this.records.values()].filter((record) => !alive.has(record.id));
    const ends = over.map((record) => this.lost(record));
    for (const session of sessions) this.started(session);
    return ends;
  }

  get all(): SessionRecord[] {
    return [...this.records.values()];
  }

  get stats(): SessionStats[] {
    return [...this.figures.values()];
  }

  of(allocationId: string): SessionRecord[] {
    return this.all.filter((record) => record.allocationId === allocationId);
  }

  private lost(record: SessionRecord): SessionEnded {
    return this.ended({
      type: 'session_ended',
      id: record.id,
      allocation: record.allocationId,
      how: 'crashed',
      detail: 'The worker that served it ended.',
      peakBytes: null,
      calls: null,
      launches: null,
      roundTrips: null,
      bytesIn: null,
      bytesOut: null,
    });
  }

  private forget(id: string): void {
    this.records.delete(id);
    this.figures.delete(id);
  }
}
