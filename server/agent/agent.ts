// The daemon on a GPU host: its parts, and which event of one is told to which other.
import { hostname } from 'node:os';
import type { AgentToServer } from '../../protocol/control/agentMessages';
import { AGENT_PROTOCOL_VERSION } from '../../protocol/control/agentMessages';
import type { Logger } from '../log';
import type { Certificate } from '../proxy/certificate';
import { isWorker, killWorker } from '../proxy/workerProcess';
import type { WorkerControl } from '../proxy/workerControl';
import type { WorkerSupervisor } from '../proxy/workerSupervisor';
import { Allocations } from './allocations';
import { clientAddress } from './addresses';
import type { Driver } from './driver';
import { machineId } from './identity';
import { ServerLink } from './serverLink';
import { Sessions } from './sessions';
import { Telemetry } from './telemetry';

export interface AgentParts {
  readonly agentId: string;
  readonly version: string;
  readonly url: string;
  readonly readToken: () => string | null;
  /** SLUICE_DATA_ADDRESS. */
  readonly dataAddress: string | null;
  /** Shown while the worker has not told its own. */
  readonly dataPort: number;
  /** null: TLS is off. */
  readonly certificate: Certificate | null;
  readonly driver: Driver;
  readonly supervisor: WorkerSupervisor;
  readonly log: Logger;
  /** Called once, when the server has accepted this agent for the first time. */
  readonly onFirstConnected: () => void;
}

export class Agent {
  private readonly sessions = new Sessions();
  private readonly link: ServerLink;
  private readonly allocations: Allocations;
  private readonly telemetry: Telemetry;
  private connectedBefore = false;
  private workerPid: number | null = null;

  constructor(private readonly parts: AgentParts) {
    const { driver, supervisor, log } = parts;
    const uuids = driver.inventory.gpus.map((gpu) => gpu.uuid);
    const send = (message: AgentToServer) => this.link.send(message);
    this.telemetry = new Telemetry(driver.sampler, this.sessions, uuids, send, log);
    this.allocations = new Allocations({
      worker: (timeoutMs) => supervisor.whenUp(timeoutMs),
      samples: () => driver.sampler.samples(),
      publish: (samples) => this.telemetry.publish(samples),
      send,
      sessions: this.sessions,
      uuids,
      log,
    });
    this.link = new ServerLink({
      url: parts.url,
      readToken: parts.readToken,
      hello: (localAddress) => this.hello(localAddress),
      log,
    });
  }

  start(): void {
    const { supervisor } = this.parts;
    supervisor.on('up', (control) => this.onWorkerUp(control));
    supervisor.on('down', () => this.onWorkerDown());
    this.link.on('connected', () => this.onConnected());
    this.link.on('message', (message) => {
      if (message.type === 'grants') this.allocations.onGrants(message.grants);
      if (message.type === 'grant') this.allocations.onGrant(message.grant);
      if (message.type === 'end') this.allocations.onEnd(message);
    });
    this.telemetry.start();
    supervisor.start();
  }

  /** `keep` leaves the worker and its programs running for the next agent. */
  async stop(how: 'shutdown' | 'keep'): Promise<void> {
    this.telemetry.stop();
    await this.parts.supervisor.stop(how);
    this.link.stop();
    this.parts.driver.sampler.stop();
  }

  private onWorkerUp(control: WorkerControl): void {
    this.workerPid = control.ready.pid;
    for (const end of this.sessions.replaced(control.ready.sessions)) this.link.send(end);
    control.on('sessionStarted', (session) => {
      const record = this.sessions.started(session);
      this.allocations.onSessionStarted(record.allocationId, record.workerPid);
      this.link.send({ type: 'sessionStarted', session: record });
    });
    control.on('sessionEnded', (ended) => {
      this.link.send(this.sessions.ended(ended));
      void this.telemetry.tick();
    });
    control.on('stats', (stats) => this.sessions.counted(stats));
    control.on('refused', (address, reason) =>
      this.parts.log.warn({ address }, `the worker refused a client: ${reason}`),
    );
    control.on('badLine', (problem) =>
      this.parts.log.warn(`the worker sent a line that is not understood: ${problem}`),
    );
    control.on('log', (level, message) => {
      this.parts.log[level === 'error' || level === 'warn' || level === 'debug' ? level : 'info'](
        { from: 'worker' },
        message,
      );
    });
    this.allocations.onWorkerUp(control.ready.grants);
    this.sendHealth();
    // Not before: the hello tells which sessions run here.
    this.link.start();
  }

  private onWorkerDown(): void {
    // When only the connection broke, the worker tells all of it again after the next connect.
    if (this.workerPid === null || !isWorker(this.workerPid)) {
      // Session processes without their listener are counted by nobody and would keep their memory.
      for (const session of this.sessions.all) killWorker(session.workerPid);
      for (const end of this.sessions.replaced([])) this.link.send(end);
    }
    this.sendHealth();
    this.link.start();
  }

  private onConnected(): void {
    this.parts.log.info({ url: this.parts.url, agentId: this.parts.agentId }, 'connected to the server');
    this.sendHealth();
    void this.telemetry.tick();
    if (!this.connectedBefore) this.parts.onFirstConnected();
    this.connectedBefore = true;
  }

  /** A worker whose driver does not work serves nobody. */
  private sendHealth(): void {
    const { control, problem } = this.parts.supervisor;
    const detail = problem ?? control?.ready.driverError ?? null;
    this.link.send({ type: 'health', worker: detail === null ? 'up' : 'down', detail });
  }

  private hello(localAddress: string): AgentToServer {
    const { parts } = this;
    const { inventory } = parts.driver;
    return {
      type: 'hello',
      protocol: AGENT_PROTOCOL_VERSION,
      agentId: parts.agentId,
      agentVersion: parts.version,
      machineId: machineId(),
      hostname: hostname(),
      dataAddress: clientAddress({
        configured: parts.dataAddress,
        serverUrl: parts.url,
        localAddress,
        workerAddress: parts.supervisor.control?.ready.address ?? null,
        port: parts.dataPort,
      }),
      certificateFingerprint: parts.certificate?.fingerprint ?? '',
      tls: parts.certificate !== null,
      driverVersion: inventory.driverVersion,
      cudaVersion: inventory.cudaVersion,
      clockMs: Date.now(),
      gpus: inventory.gpus,
      allocationIds: this.allocations.ids,
      sessions: this.sessions.all,
    };
  }
}
