// The agent's side of the NVML process: asks, waits no longer than it should,
// and replaces a process that hangs or dies.
import { fork, type ChildProcess } from 'node:child_process';
import type { GpuSample } from '../../../protocol/control/agentMessages';
import { childEnvironment } from '../../env/child';
import type { Inventory } from './reading';
import type { SamplerAnswer, SamplerRequest } from './samplerProcess';

/** The hidden command of the command line that runs samplerProcess.ts. */
export const samplerCommand = 'nvml-sampler';

export interface SamplerSource {
  /** Path of a libnvidia-ml.so.1. */
  readonly library: string;
  readonly software: boolean;
  readonly environment: Readonly<Record<string, string>>;
}

interface Waiting {
  readonly resolve: (answer: SamplerAnswer) => void;
  readonly reject: (error: Error) => void;
}

export interface SamplerSettings {
  /** The program whose hidden command calls NVML: this same one, so that it works from sources and from the bundle alike. */
  readonly program: string;
  readonly sampleTimeoutMs: number;
}

// Loading a driver on a host with many GPUs without persistence mode takes seconds.
const inventoryTimeoutMs = 30_000;
const defaults: SamplerSettings = { program: process.argv[1] ?? '', sampleTimeoutMs: 5_000 };

export class Sampler {
  private child: ChildProcess | null = null;
  private nextId = 1;
  private readonly waiting = new Map<number, Waiting>();

  constructor(
    private readonly source: SamplerSource,
    private readonly settings: SamplerSettings = defaults,
  ) {}

  /** The host's GPUs. Rejects when NVML cannot be loaded, finds no driver, or hangs. */
  async inventory(): Promise<Inventory> {
    const answer = await this.ask('inventory', inventoryTimeoutMs);
    if ('inventory' in answer) return answer.inventory;
    throw new Error('error' in answer ? answer.error : 'NVML answered something else');
  }

  /** One sample of every GPU, taken now. Rejects like inventory(). */
  async samples(): Promise<GpuSample[]> {
    const answer = await this.ask('samples', this.settings.sampleTimeoutMs);
    if ('samples' in answer) return answer.samples;
    throw new Error('error' in answer ? answer.error : 'NVML answered something else');
  }

  stop(): void {
    this.discard('the sampler was stopped');
  }

  private ask(ask: SamplerRequest['ask'], timeoutMs: number): Promise<SamplerAnswer> {
    const child = this.child ?? this.launch();
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => this.discard(`NVML did not answer within ${timeoutMs / 1000} s`),
        timeoutMs,
      );
      this.waiting.set(id, {
        resolve: (answer) => {
          clearTimeout(timer);
          resolve(answer);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      });
      child.send({ id, ask } satisfies SamplerRequest, (error) => {
        if (error !== null) this.waiting.get(id)?.reject(error);
      });
    });
  }

  private launch(): ChildProcess {
    const { library, software, environment } = this.source;
    const child = fork(this.settings.program, [samplerCommand, library, software ? 'software' : 'hardware'], {
      execArgv: process.execArgv,
      env: childEnvironment({ ...environment, LD_LIBRARY_PATH: null }),
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    child.on('message', (answer: SamplerAnswer) => {
      const waiter = this.waiting.get(answer.id);
      this.waiting.delete(answer.id);
      waiter?.resolve(answer);
    });
    child.on('exit', (code, signal) => {
      if (this.child === child)
        this.discard(`the process that asks NVML ended (${signal ?? `exit status ${code}`})`);
    });
    child.on('error', (error) => {
      if (this.child === child) this.discard(error.message);
    });
    this.child = child;
    return child;
  }

  /** Gives up the process; the next request starts another. */
  private discard(reason: string): void {
    const child = this.child;
    this.child = null;
    child?.kill('SIGKILL');
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const waiter of waiting) waiter.reject(new Error(reason));
  }
}
