// The control socket's other end for tests: answers as the listener does, and says what it was told.
import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

type Line = Record<string, unknown> & { type: string };

export class FakeWorker {
  readonly told: Line[] = [];
  private readonly server: Server;
  private socket: Socket | null = null;
  /** What the next connection is greeted with. */
  ready: Line = {
    type: 'ready',
    pid: process.pid,
    address: '127.0.0.1:56001',
    protocol: { min: 1, max: 1 },
    driver: '/lib/libcuda.so.1',
    driverVersion: 13000,
    driverError: null,
    grants: [],
    sessions: [],
  };
  /** Answers to what is told; null says nothing. */
  answer: (line: Line) => Line | null = (line) => {
    const grant = line.grant as { allocation: string } | undefined;
    if (line.type === 'grant') return { type: 'granted', allocation: grant?.allocation };
    if (line.type === 'end') return { type: 'ended', allocation: line.allocation };
    return null;
  };

  constructor(path: string) {
    this.server = createServer((socket) => {
      this.socket = socket;
      this.say(this.ready);
      socket.on('error', () => undefined);
      const lines = createInterface({ input: socket });
      lines.on('error', () => undefined);
      lines.on('line', (text) => {
        const line = JSON.parse(text) as Line;
        this.told.push(line);
        const answer = this.answer(line);
        if (answer !== null) this.say(answer);
        if (line.type === 'shutdown') socket.end();
      });
    }).listen(path);
  }

  say(line: Line | string): void {
    this.socket?.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`);
  }

  /** Breaks the connection as a worker that dies does. */
  drop(): void {
    this.socket?.destroy();
  }

  close(): void {
    this.drop();
    this.server.close();
  }
}
