// The relay of native/samples/bench: a network with a given delay and rate, that can be stalled and cut.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { once } from 'node:events';
import { z } from 'zod';

export interface Link {
  readonly roundTripMicroseconds: number;
  /** 0: as fast as this machine is. */
  readonly gigabitsPerSecond: number;
}

export interface Relay {
  /** host:port to connect to. */
  readonly address: string;
  /** Nothing goes through any more, while connections stay open. */
  stall(): Promise<void>;
  resume(): Promise<void>;
  /** Closes all connections. */
  cut(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the relay `program` in front of `to` (host:port). */
export async function startRelay(program: string, to: string, link: Link): Promise<Relay> {
  const parameters = [
    '--to',
    to,
    '--rtt-us',
    String(link.roundTripMicroseconds),
    '--gbit',
    String(link.gigabitsPerSecond),
  ];
  const child = spawn(program, parameters, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async () => {
    const next = await lines.next();
    if (next.done === true) throw new Error('the relay has ended');
    return next.value;
  };
  const { port } = z.object({ port: z.number() }).parse(JSON.parse(await line()));
  const command = async (text: string) => {
    child.stdin.write(`${text}\n`);
    await line();
  };
  return {
    address: `127.0.0.1:${port}`,
    stall: () => command('stall'),
    resume: () => command('resume'),
    cut: () => command('cut'),
    async stop() {
      if (child.exitCode !== null) return;
      const exited = once(child, 'exit');
      child.stdin.end();
      await exited;
    },
  };
}
