// One connection to the listener's control socket: lines in, lines out, and the
// answers that belong to a request. Connecting again is the supervisor's part.
import { EventEmitter } from 'node:events';
import { connect as connectSocket, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import {
  fromWorker,
  type FromWorker,
  type ToWorker,
  type WorkerGrant,
  type WorkerReady,
  type WorkerSession,
  type WorkerSessionEnded,
  type WorkerSessionStats,
} from './controlMessages';

interface Events {
  sessionStarted: [session: WorkerSession];
  sessionEnded: [session: WorkerSessionEnded];
  stats: [sessions: WorkerSessionStats[]];
  refused: [address: string, reason: string];
  log: [level: string, message: string];
  /** A line that does not fit the schema; the connection goes on. */
  badLine: [problem: string];
  closed: [];
}

interface Waiter {
  resolve: () => void;
  reject: (reason: Error) => void;
}

/** The worker said no to a grant; the message is its sentence. */
export class GrantRefusedError extends Error {
  override name = 'GrantRefusedError';
}

/** The connection to the worker ended before it answered. */
export class WorkerGoneError extends Error {
  override name = 'WorkerGoneError';
}

export class WorkerControl extends EventEmitter<Events> {
  private readonly granting = new Map<string, Waiter[]>();
  private readonly ending = new Map<string, Waiter[]>();
  private open = true;

  private constructor(
    private readonly socket: Socket,
    /** What the worker was doing when this connection began. */
    readonly ready: WorkerReady,
  ) {
    super();
  }

  /**
   * Connects and waits for the worker's `ready`. Rejects with the socket's error (ENOENT and ECONNREFUSED:
   * no worker there), or when `ready` has not come within `timeoutMs`.
   */
  static connect(path: string, timeoutMs = 10_000): Promise<WorkerControl> {
    return new Promise((resolve, reject) => {
      const socket = connectSocket(path);
      const timer = setTimeout(
        () => socket.destroy(new Error('the worker does not answer on its control socket')),
        timeoutMs,
      );
      let control: WorkerControl | null = null;
      socket.on('error', (error) => {
        clearTimeout(timer);
        reject(error);
      });
      socket.on('close', () => {
        clearTimeout(timer);
        reject(new WorkerGoneError('the worker closed its control socket'));
        control?.onClosed();
      });
      const lines = createInterface({ input: socket, crlfDelay: Infinity });
      // It repeats the socket's error, which is handled above.
      lines.on('error', () => undefined);
      lines.on('line', (line) => {
        if (control !== null) return control.onLine(line);
        const first = parseLine(line);
        if (typeof first === 'string' || first.type !== 'ready') {
          return void socket.destroy(new Error('the control socket is not that of a Sluice worker'));
        }
        clearTimeout(timer);
        control = new WorkerControl(socket, first);
        resolve(control);
      });
    });
  }

  get connected(): boolean {
    return this.open;
  }

  /** Tells the full set of grants; others are ended by the worker. */
  setGrants(grants: WorkerGrant[]): void {
    this.send({ type: 'grants', grants });
  }

  /** Resolves when the worker accepts clients of the grant. Rejects with GrantRefusedError or WorkerGoneError. */
  grant(grant: WorkerGrant): Promise<void> {
    return this.ask(this.granting, grant.allocation, { type: 'grant', grant });
  }

  /** Ends an allocation's sessions after `graceMs`. Resolves when no process of it is left. */
  end(allocation: string, reason: string, graceMs: number): Promise<void> {
    return this.ask(this.ending, allocation, { type: 'end', allocation, reason, graceMs });
  }

  /** Tells the worker to end all sessions and exit. Resolves when it has closed the socket. */
  shutdown(): Promise<void> {
    if (!this.open) return Promise.resolve();
    return new Promise((resolve) => {
      this.once('closed', resolve);
      this.send({ type: 'shutdown' });
    });
  }

  /** Leaves the worker running. */
  close(): void {
    this.socket.destroy();
  }

  private ask(waiters: Map<string, Waiter[]>, allocation: string, message: ToWorker): Promise<void> {
    if (!this.open) return Promise.reject(new WorkerGoneError('the worker is not running'));
    return new Promise((resolve, reject) => {
      waiters.set(allocation, [...(waiters.get(allocation) ?? []), { resolve, reject }]);
      this.send(message);
    });
  }

  private send(message: ToWorker): void {
    if (this.open) this.socket.write(`${JSON.stringify(message)}\n`);
  }

  private onLine(line: string): void {
    const message = parseLine(line);
    if (typeof message === 'string') return void this.emit('badLine', message);
    switch (message.type) {
      case 'granted':
        return settle(this.granting, message.allocation, (waiter) => waiter.resolve());
      case 'grant_failed':
        return settle(this.granting, message.allocation, (waiter) =>
          waiter.reject(new GrantRefusedError(message.message)),
        );
      case 'ended':
        return settle(this.ending, message.allocation, (waiter) => waiter.resolve());
      case 'session_started':
        return void this.emit('sessionStarted', message.session);
      case 'session_ended':
        return void this.emit('sessionEnded', message);
      case 'stats':
        return void this.emit('stats', message.sessions);
      case 'refused':
        return void this.emit('refused', message.address, message.reason);
      case 'log':
        return void this.emit('log', message.level, message.message);
      case 'ready':
        return void this.emit('badLine', 'a second "ready"');
    }
  }

  private onClosed(): void {
    this.open = false;
    for (const waiters of [this.granting, this.ending]) {
      for (const allocation of [...waiters.keys()]) {
        settle(waiters, allocation, (waiter) =>
          waiter.reject(new WorkerGoneError('the worker stopped before it answered')),
        );
      }
    }
    this.emit('closed');
  }
}

function settle(waiters: Map<string, Waiter[]>, allocation: string, how: (waiter: Waiter) => void): void {
  const waiting = waiters.get(allocation) ?? [];
  waiters.delete(allocation);
  waiting.forEach(how);
}

/** The message, or what is wrong with the line. */
function parseLine(line: string): FromWorker | string {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return 'a line that is not JSON';
  }
  const parsed = fromWorker.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  return `${issue?.path.join('.') || 'message'}: ${issue?.message ?? 'not understood'}`;
}
