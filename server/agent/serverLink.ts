// The agent's connection to the control plane. It is lost and made again without
// end: the server may be away for days while programs run on.
import { EventEmitter } from 'node:events';
import { WebSocket } from 'ws';
import { serverToAgent, type AgentToServer, type ServerToAgent } from '../../protocol/control/agentMessages';
import type { Logger } from '../log';

interface Events {
  /** The server has accepted this agent. */
  connected: [];
  message: [message: ServerToAgent];
  disconnected: [reason: string];
}

export interface LinkOptions {
  /** http(s) address of the control plane. */
  readonly url: string;
  /** Read at each attempt, so that a token can be replaced while the agent runs. */
  readonly readToken: () => string | null;
  /** What to say first; told the address by which this host reaches the server. */
  readonly hello: (localAddress: string) => AgentToServer;
  readonly log: Logger;
}

const firstBackoffMs = 250;
const maxBackoffMs = 5_000;
const connectTimeoutMs = 10_000;
// A server that is busy, or stopped in a debugger, is not taken for one that is gone.
const minSilenceMs = 10_000;
const maxMessageBytes = 16 * 1024 * 1024;

export class ServerLink extends EventEmitter<Events> {
  private socket: WebSocket | null = null;
  private accepted = false;
  private stopped = false;
  private backoffMs = firstBackoffMs;
  private timer: NodeJS.Timeout | null = null;
  private watchdog: NodeJS.Timeout | null = null;
  /** By when the server must have answered the hello. */
  private deadline: NodeJS.Timeout | undefined;
  private heard = Date.now();

  constructor(private readonly options: LinkOptions) {
    super();
  }

  get connected(): boolean {
    return this.accepted;
  }

  /** Begins to connect, unless it has begun already. */
  start(): void {
    if (this.socket === null && this.timer === null && !this.stopped) this.connect();
  }

  /** Sends when connected; false when the message was not sent. */
  send(message: AgentToServer): boolean {
    if (!this.accepted || this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  stop(): void {
    this.stopped = true;
    if (this.timer !== null) clearTimeout(this.timer);
    this.socket?.close(1000);
    this.socket?.terminate();
  }

  private connect(): void {
    this.timer = null;
    const token = this.options.readToken();
    const socket = new WebSocket(`${this.options.url.replace(/^http/, 'ws')}/agent`, {
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      handshakeTimeout: connectTimeoutMs,
      maxPayload: maxMessageBytes,
    });
    this.socket = socket;
    let reason: string | null = null;
    socket.on('unexpected-response', (_request, response) => {
      reason = refusal(response.statusCode ?? 0);
      socket.terminate();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // After a refusal ws reports that the handshake was given up; the refusal says more.
      reason ??= error.code ?? error.message;
    });
    socket.on('upgrade', (response) => {
      const localAddress = response.socket.localAddress ?? '127.0.0.1';
      socket.on('open', () => {
        socket.send(JSON.stringify(this.options.hello(localAddress)));
        this.deadline = setTimeout(() => socket.terminate(), connectTimeoutMs);
      });
    });
    socket.on('ping', () => (this.heard = Date.now()));
    socket.on('pong', () => (this.heard = Date.now()));
    socket.on('message', (data) => {
      this.heard = Date.now();
      reason = this.onMessage(data.toString()) ?? reason;
    });
    socket.on('close', (_code, text) =>
      this.onClosed(reason ?? (text.toString() || 'the connection was closed')),
    );
  }

  /** Handles one message; a sentence when the server refuses this agent. */
  private onMessage(text: string): string | null {
    const parsed = serverToAgent.safeParse(parseJson(text));
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      this.options.log.warn(
        { path: issue?.path.join('.'), problem: issue?.message },
        'the server sent a message that is not understood',
      );
      return null;
    }
    const message = parsed.data;
    if (message.type === 'refused') return `the server refused this agent: ${message.message}`;
    if (message.type === 'welcome') {
      clearTimeout(this.deadline);
      this.accepted = true;
      this.backoffMs = firstBackoffMs;
      this.watch(message.heartbeatSeconds * 1000);
      this.emit('connected');
    } else {
      this.emit('message', message);
    }
    return null;
  }

  /** A cable that is pulled closes nothing: after a long silence the connection is given up. */
  private watch(heartbeatMs: number): void {
    if (this.watchdog !== null) clearInterval(this.watchdog);
    this.heard = Date.now();
    this.watchdog = setInterval(() => {
      if (Date.now() - this.heard > Math.max(heartbeatMs * 2.5, minSilenceMs)) this.socket?.terminate();
      else this.socket?.ping();
    }, heartbeatMs);
  }

  private onClosed(reason: string): void {
    clearTimeout(this.deadline);
    const was = this.accepted;
    this.socket = null;
    this.accepted = false;
    if (this.watchdog !== null) clearInterval(this.watchdog);
    if (was) this.emit('disconnected', reason);
    if (this.stopped) return;
    // Jitter: a thousand agents must not come back in the same instant.
    const waitMs = this.backoffMs * (0.5 + Math.random());
    this.options.log.warn(
      { url: this.options.url, retryMs: Math.round(waitMs) },
      `not connected to the server: ${reason}`,
    );
    this.backoffMs = Math.min(this.backoffMs * 2, maxBackoffMs);
    this.timer = setTimeout(() => this.connect(), waitMs);
  }
}

function refusal(status: number): string {
  if (status === 401)
    return 'the server refused the token; give a valid agent token in SLUICE_TOKEN or --token-file';
  if (status === 503) return 'the server is just starting';
  if (status === 403) return 'the server refused the token because it is not of the kind for agents';
  return `the server refused the connection with HTTP status ${status}; check that SLUICE_URL is that of a Sluice server`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
