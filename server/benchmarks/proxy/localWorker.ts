// A worker of one's own on loopback, without agent or control plane: started
// with a driver library, given grants through its control socket.
import { spawn, type ChildProcess } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { childEnvironment } from '../../env/child';
import { ensureCertificate } from '../../proxy/certificate';
import type { Grant } from '../../proxy/grant';
import { grantEnvironment } from '../../proxy/program';
import type { NativePaths } from '../../proxy/projectPaths';
import { WorkerControl } from '../../proxy/workerControl';

export interface LocalWorkerOptions {
  readonly native: NativePaths;
  /** Path of the libcuda.so.1 that sessions load. */
  readonly driver: string;
  /** What the worker finds in its environment besides this process's. */
  readonly environment: Readonly<Record<string, string | null>>;
  readonly tls: boolean;
  /** Exists; holds the certificate, the control socket and the image cache. */
  readonly folder: string;
  /** host:port to listen on; default: a free port of 127.0.0.1. */
  readonly listen?: string;
  /** What the worker is started through, such as ['taskset', '-c', '1']. */
  readonly prefix?: readonly string[];
}

export interface GrantedGpu {
  readonly uuid: string;
  /** null: the whole GPU. */
  readonly memoryMib: number | null;
}

/** Connecting is tried so often until the worker listens. */
const retryMs = 20;
const startTimeoutMs = 15_000;

export class LocalWorker {
  private constructor(
    readonly control: WorkerControl,
    readonly child: ChildProcess,
    private readonly options: LocalWorkerOptions,
    private readonly fingerprint: string,
    private readonly errors: readonly string[],
  ) {}

  /** Starts a worker. Rejects with its own words when it ends at once. */
  static async start(options: LocalWorkerOptions): Promise<LocalWorker> {
    const socket = join(options.folder, 'control.sock');
    const certificate = await ensureCertificate(options.folder, hostname());
    const parameters = [
      '--listen',
      options.listen ?? '127.0.0.1:0',
      '--control',
      socket,
      '--driver',
      options.driver,
      '--cache',
      join(options.folder, 'images'),
    ];
    if (options.tls) parameters.push('--cert', certificate.certificateFile, '--key', certificate.keyFile);
    else parameters.push('--tls', 'off');
    const command = [...(options.prefix ?? []), options.native.workerBinary, ...parameters];
    const child = spawn(command[0] ?? '', command.slice(1), {
      env: childEnvironment(options.environment),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const errors: string[] = [];
    child.stderr?.setEncoding('utf8').on('data', (text: string) => errors.push(text));
    let failure: Error | null = null;
    child.once('error', (error) => (failure = error));
    child.once('exit', (code, signal) => {
      failure = new Error(
        `the worker ended with ${signal ?? code} before it listened: ${errors.join('').trim()}`,
      );
    });
    const deadline = Date.now() + startTimeoutMs;
    for (;;) {
      if (failure !== null) throw failure;
      try {
        const control = await WorkerControl.connect(socket);
        return new LocalWorker(control, child, options, options.tls ? certificate.fingerprint : '', errors);
      } catch (error) {
        if (Date.now() > deadline) {
          child.kill('SIGKILL');
          throw error;
        }
      }
      await delay(retryMs);
    }
  }

  /** host:port of the data plane. */
  get address(): string {
    return this.control.ready.address;
  }

  /** What the worker and its sessions have written to stderr so far. */
  get errorOutput(): string {
    return this.errors.join('');
  }

  /**
   * Makes an allocation, or this worker's part of the one that `others` is. Resolves with the grant of all
   * parts and the variables for programs that use it.
   */
  async grant(
    gpus: readonly GrantedGpu[],
    others?: Grant,
  ): Promise<{ grant: Grant; environment: Record<string, string | null> }> {
    const secret = others ? Buffer.from(others.secret, 'hex') : randomBytes(32);
    const allocation = others?.allocation ?? randomUUID();
    await this.grantAgain({ allocation, secret: secret.toString('hex') }, gpus);
    const grant: Grant = {
      version: 1,
      allocation,
      secret: secret.toString('hex'),
      tls: this.options.tls,
      servers: [
        ...(others?.servers ?? []),
        { address: this.address, fingerprint: this.fingerprint, gpus: [...gpus] },
      ],
    };
    return { grant, environment: grantEnvironment(grant, this.options.native.clientLibraries, undefined) };
  }

  /** Makes a known allocation valid on this worker, as an agent does it after its worker was started anew. */
  async grantAgain(grant: Pick<Grant, 'allocation' | 'secret'>, gpus: readonly GrantedGpu[]): Promise<void> {
    await this.control.grant({
      allocation: grant.allocation,
      storedKey: createHash('sha256').update(Buffer.from(grant.secret, 'hex')).digest('hex'),
      gpus: gpus.map(({ uuid, memoryMib }) => ({
        uuid,
        memoryBytes: memoryMib === null ? null : memoryMib * 2 ** 20,
      })),
    });
  }

  /** Ends all sessions and the worker; by force when it does not go within 5 s. */
  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    const force = setTimeout(() => this.child.kill('SIGKILL'), 5000);
    await this.control.shutdown();
    await exited;
    clearTimeout(force);
  }
}
