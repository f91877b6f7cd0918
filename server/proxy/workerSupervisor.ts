// Keeps one listener running and connected: adopts the one that runs, starts one
// where none does, and starts it again when it ends.
//
//   starting ──► up ──► down ──► starting …        stopped ends the circle
import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { SluiceError } from '../errors';
import type { Logger } from '../log';
import { WorkerControl } from './workerControl';
import {
  WorkerProcess,
  controlSocketPath,
  killWorker,
  recordedWorker,
  settingsDigest,
  type WorkerSettings,
} from './workerProcess';

interface Events {
  up: [control: WorkerControl];
  down: [reason: string];
}

const firstBackoffMs = 200;
const maxBackoffMs = 10_000;
// A worker that served this long was well: its next failure starts from the shortest wait.
const settledMs = 60_000;
const startTimeoutMs = 10_000;

export class WorkerSupervisor extends EventEmitter<Events> {
  private current: WorkerControl | null = null;
  private process: WorkerProcess | null = null;
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();
  /** Why there is no worker now; null while one is connected. */
  problem: string | null = 'The worker has not started yet.';

  constructor(
    private readonly settings: WorkerSettings,
    private readonly dataDir: string,
    private readonly log: Logger,
  ) {
    super();
  }

  /** The connection to the worker; null while there is none. */
  get control(): WorkerControl | null {
    return this.current;
  }

  /** Begins; `up` and `down` tell what happens. */
  start(): void {
    this.running = this.run();
  }

  /** The worker's connection, when there is one within `timeoutMs`. Throws WORKER_FAILED otherwise. */
  async whenUp(timeoutMs: number): Promise<WorkerControl> {
    if (this.current !== null) return this.current;
    return new Promise((resolve, reject) => {
      const onUp = (control: WorkerControl) => {
        clearTimeout(timer);
        resolve(control);
      };
      const timer = setTimeout(() => {
        this.off('up', onUp);
        reject(new SluiceError('WORKER_FAILED', this.problem ?? 'The worker does not run.'));
      }, timeoutMs);
      this.once('up', onUp);
    });
  }

  /** Lets go of the worker: ends it (all its programs with it), or leaves it for the next agent. */
  async stop(how: 'shutdown' | 'keep'): Promise<void> {
    this.stopping.abort();
    if (this.current !== null && how === 'shutdown') {
      const gone = this.current.shutdown();
      const ended = await Promise.race([gone.then(() => true), delay(5000, false, { ref: false })]);
      const record = recordedWorker(this.dataDir);
      if (!ended && record !== null) killWorker(record.pid);
    }
    this.current?.close();
    await this.running;
  }

  private async run(): Promise<void> {
    let backoffMs = firstBackoffMs;
    while (!this.stopping.signal.aborted) {
      const startedAt = Date.now();
      const reason = await this.serveOnce().catch((error: Error) => error.message);
      if (this.stopping.signal.aborted) return;
      this.problem = `The worker does not run: ${reason}.`;
      this.emit('down', this.problem);
      if (Date.now() - startedAt > settledMs) backoffMs = firstBackoffMs;
      this.log.warn({ retryMs: backoffMs }, this.problem);
      await delay(backoffMs * (0.75 + Math.random() / 2), undefined, { signal: this.stopping.signal }).catch(
        () => null,
      );
      backoffMs = Math.min(backoffMs * 2, maxBackoffMs);
    }
  }

  /** From a connection to its end; resolves with why it ended. */
  private async serveOnce(): Promise<string> {
    const control = (await this.adopt()) ?? (await this.launch());
    if (this.stopping.signal.aborted) {
      control.close();
      return 'the agent stops';
    }
    const closed = new Promise<void>((resolve) => control.once('closed', resolve));
    this.current = control;
    this.problem = null;
    this.emit('up', control);
    await closed;
    this.current = null;
    const ended = await Promise.race([this.process?.ended, delay(1000, null, { ref: false })]);
    return ended ?? 'it closed its control socket';
  }

  /** The worker that runs already; null when there is none that can be used. */
  private async adopt(): Promise<WorkerControl | null> {
    const control = await WorkerControl.connect(controlSocketPath(this.dataDir)).catch(noneThere);
    const record = recordedWorker(this.dataDir);
    if (control === null) {
      // It runs but nobody can talk to it any more: its port is needed for the next.
      if (record !== null) killWorker(record.pid);
      return null;
    }
    const changed = record !== null && record.settings !== settingsDigest(this.settings);
    if (changed && control.ready.sessions.length === 0) {
      this.log.info(
        { pid: control.ready.pid },
        'the worker that runs has other settings and is idle: starting a new one',
      );
      await control.shutdown();
      return null;
    }
    this.log.info(
      { pid: control.ready.pid, sessions: control.ready.sessions.length },
      'adopted the running worker',
    );
    if (changed) this.log.warn('it keeps its former settings while its programs run');
    return control;
  }

  private async launch(): Promise<WorkerControl> {
    const process = await WorkerProcess.start(this.settings, this.dataDir);
    this.process = process;
    const deadline = AbortSignal.timeout(startTimeoutMs);
    let over: string | null = null;
    void process.ended.then((reason) => (over = reason));
    while (!deadline.aborted) {
      const control = await WorkerControl.connect(controlSocketPath(this.dataDir)).catch(() => null);
      if (control !== null) {
        this.log.info({ pid: process.pid, address: control.ready.address }, 'the worker runs');
        return control;
      }
      if (over !== null) throw new Error(over);
      // The socket appears within milliseconds; a refused connect says only that it is not there yet.
      await Promise.race([process.ended, delay(10)]);
    }
    killWorker(process.pid);
    throw new Error(`it did not open its control socket within ${startTimeoutMs / 1000} s`);
  }
}

/** null when nobody listens. A worker that is there but does not answer may be serving programs: it is left alone. */
function noneThere(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') return null;
  throw error;
}
