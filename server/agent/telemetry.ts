// The sample of every second. NVML that fails or hangs makes gaps, never zeros.
import type { AgentToServer, GpuSample } from '../../protocol/control/agentMessages';
import type { Logger } from '../log';
import type { Sampler } from './nvml/sampler';
import type { Sessions } from './sessions';

const intervalMs = 1000;

export class Telemetry {
  private timer: NodeJS.Timeout | null = null;
  private busy = false;
  private problem: string | null = null;

  constructor(
    private readonly sampler: Sampler,
    private readonly sessions: Sessions,
    private readonly uuids: readonly string[],
    private readonly send: (message: AgentToServer) => boolean,
    private readonly log: Logger,
  ) {}

  start(): void {
    this.timer = setInterval(() => void this.tick(), intervalMs);
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
  }

  /** Samples now and sends, unless a sample is being taken. */
  async tick(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      this.publish(await this.sampler.samples());
      if (this.problem !== null) this.log.info('NVML answers again');
      this.problem = null;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (this.problem !== reason) this.log.warn(`no sample of the GPUs: ${reason}`);
      this.problem = reason;
      this.publish(this.uuids.map(unknownSample));
    } finally {
      this.busy = false;
    }
  }

  publish(gpus: GpuSample[]): void {
    this.send({ type: 'telemetry', gpus, sessions: this.sessions.stats });
  }
}

function unknownSample(uuid: string): GpuSample {
  return {
    uuid,
    memoryTotalMib: null,
    memoryUsedMib: null,
    memoryFreeMib: null,
    memoryReservedMib: null,
    utilizationPercent: null,
    powerWatts: null,
    temperatureCelsius: null,
    processes: [],
  };
}
