import { randomUUID } from 'node:crypto';
import { WebSocket } from 'ws';
import {
  serverToAgent,
  type AgentToServer,
  type GpuSample,
  type ServerToAgent,
  type SessionRecord,
} from '@/protocol/control/agentMessages';

type Hello = Extract<AgentToServer, { type: 'hello' }>;
type Received<Type extends ServerToAgent['type']> = Extract<ServerToAgent, { type: Type }>;

export interface AgentOptions {
  url: string;
  token: string;
  id?: string;
  gpus?: { uuid: string; memoryTotalMib?: number }[];
  /** Accepts every grant and proves every end at once, as a healthy host does. Default: true. */
  obliging?: boolean;
  hello?: Partial<Hello>;
}

/** An agent that a test directs, over a real WebSocket. It speaks through the same schemas as a real one. */
export class ScriptedAgent {
  readonly id: string;
  readonly gpus: { uuid: string; memoryTotalMib: number }[];
  /** Grants it holds, by allocation; what a worker would serve. */
  readonly held = new Map<string, { version: number; storedKey: string }>();
  readonly received: ServerToAgent[] = [];
  readonly sessions: SessionRecord[] = [];
  private readonly waiting = new Set<() => void>();
  private socket: WebSocket | null = null;

  constructor(private readonly options: AgentOptions) {
    this.id = options.id ?? `agent-${randomUUID()}`;
    this.gpus = (options.gpus ?? [{ uuid: `GPU-${randomUUID()}` }]).map(
      ({ uuid, memoryTotalMib = 8192 }) => ({
        uuid,
        memoryTotalMib,
      }),
    );
  }

  static async connect(options: AgentOptions): Promise<ScriptedAgent> {
    const agent = new ScriptedAgent(options);
    await agent.connect();
    return agent;
  }

  /** Connects and waits until the server has told what must exist here. */
  async connect(): Promise<void> {
    const before = this.received.length;
    await this.open();
    this.send(this.hello());
    await this.next('grants', before);
  }

  async open(): Promise<void> {
    const socket = new WebSocket(`${this.options.url.replace('http', 'ws')}/agent`, {
      headers: { authorization: `Bearer ${this.options.token}` },
    });
    this.socket = socket;
    socket.on('message', (data: Buffer) => this.receive(serverToAgent.parse(JSON.parse(data.toString()))));
    socket.on('close', () => this.wake());
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  }

  get closed(): boolean {
    return this.socket?.readyState === WebSocket.CLOSED;
  }

  send(message: AgentToServer): void {
    this.sendText(JSON.stringify(message));
  }

  sendText(text: string): void {
    this.socket?.send(text);
  }

  /** The first message of a type that came after `from` messages. */
  async next<Type extends ServerToAgent['type']>(type: Type, from = 0): Promise<Received<Type>> {
    return this.until(() =>
      this.received.slice(from).find((message): message is Received<Type> => message.type === type),
    );
  }

  async untilClosed(): Promise<void> {
    await this.until(() => (this.closed ? true : undefined));
  }

  async disconnect(): Promise<void> {
    this.socket?.close();
    await this.untilClosed();
  }

  startSession(allocationId: string, fields: Partial<SessionRecord> = {}): SessionRecord {
    const session: SessionRecord = {
      id: randomUUID(),
      allocationId,
      workerPid: 4242,
      command: './train',
      user: 'alice',
      clientHost: 'laptop',
      clientPid: 77,
      clientAddress: '10.0.0.9:40000',
      startedAtMs: 0,
      ...fields,
    };
    this.sessions.push(session);
    this.send({ type: 'sessionStarted', session });
    return session;
  }

  endSession(id: string, how: 'closed' | 'revoked' | 'killed' | 'crashed' = 'closed'): void {
    const [session] = this.sessions.splice(
      this.sessions.findIndex((entry) => entry.id === id),
      1,
    );
    this.send({
      type: 'sessionEnded',
      id,
      allocationId: session?.allocationId ?? '',
      how,
      detail: null,
      peakBytes: 1024,
      calls: 10,
      launches: 3,
      roundTrips: 2,
      bytesIn: 100,
      bytesOut: 200,
    });
  }

  sample(fields: Partial<GpuSample>[] = []): void {
    this.send({
      type: 'telemetry',
      sessions: [],
      gpus: this.gpus.map(({ uuid, memoryTotalMib }, i) => ({
        uuid,
        memoryTotalMib,
        memoryUsedMib: 0,
        memoryFreeMib: memoryTotalMib,
        memoryReservedMib: 0,
        utilizationPercent: 0,
        powerWatts: null,
        temperatureCelsius: null,
        processes: [],
        ...fields[i],
      })),
    });
  }

  prove(allocationId: string, version: number, gpu: { processesLeft?: number; after?: number } = {}): void {
    this.send({
      type: 'released',
      allocationId,
      version,
      gpus: this.gpus.map(({ uuid }) => ({
        uuid,
        processesLeft: gpu.processesLeft ?? 0,
        memoryUsedMibBefore: 0,
        memoryUsedMibAfter: gpu.after ?? 0,
      })),
    });
  }

  hello(): Hello {
    return {
      type: 'hello',
      protocol: 1,
      agentId: this.id,
      agentVersion: '0.1.0',
      machineId: 'machine',
      hostname: `host-${this.id}`,
      dataAddress: '127.0.0.1:56001',
      certificateFingerprint: `sha256:${'a'.repeat(64)}`,
      tls: true,
      driverVersion: '580.1',
      cudaVersion: '13.0',
      clockMs: 0,
      gpus: this.gpus.map((gpu, index) => ({
        ...gpu,
        index,
        name: 'Sluice Software GPU',
        computeCapability: '10.0',
        pciBusId: null,
        software: true,
      })),
      allocationIds: [...this.held.keys()],
      sessions: this.sessions,
      ...this.options.hello,
    };
  }

  private receive(message: ServerToAgent): void {
    this.received.push(message);
    if (this.options.obliging !== false) this.oblige(message);
    this.wake();
  }

  private oblige(message: ServerToAgent): void {
    const grants =
      message.type === 'grants' ? message.grants : message.type === 'grant' ? [message.grant] : [];
    for (const { allocationId, version, storedKey } of grants) {
      this.held.set(allocationId, { version, storedKey });
      this.send({ type: 'grantReady', allocationId, version });
    }
    if (message.type === 'end') {
      this.held.delete(message.allocationId);
      this.prove(message.allocationId, message.version);
    }
  }

  private wake(): void {
    for (const run of [...this.waiting]) run();
  }

  private until<Value>(find: () => Value | undefined): Promise<Value> {
    return new Promise((resolve) => {
      const look = (): void => {
        const found = find();
        if (found === undefined) return;
        this.waiting.delete(look);
        resolve(found);
      };
      this.waiting.add(look);
      look();
    });
  }
}
