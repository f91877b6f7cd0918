// Child processes of a test whose output is watched for lines, so that a test waits for what happens
// and not for a time.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export class WatchedProcess {
  private readonly lines: string[] = [];
  private readonly watchers = new Set<() => void>();
  private over: string | null = null;

  private constructor(
    private readonly child: ChildProcess,
    private readonly name: string,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        this.lines.push(line);
        this.notify();
      });
    }
    child.on('exit', (code, signal) => {
      this.over = `${name} ended (${signal ?? `exit status ${code}`})`;
      this.notify();
    });
  }

  static start(name: string, command: string, args: string[], env: NodeJS.ProcessEnv): WatchedProcess {
    return new WatchedProcess(spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] }), name);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Everything that it has said, for the message of a failing test. */
  get output(): string {
    return this.lines.join('\n');
  }

  /** The first line that matches, now or later. Rejects when the process ends or the time is over. */
  line(pattern: RegExp, timeoutMs = 60_000): Promise<RegExpExecArray> {
    return this.find(pattern, 0, timeoutMs);
  }

  /** As line(), but only among what it says from now on. */
  nextLine(pattern: RegExp, timeoutMs = 60_000): Promise<RegExpExecArray> {
    return this.find(pattern, this.lines.length, timeoutMs);
  }

  private find(pattern: RegExp, from: number, timeoutMs: number): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      let seen = from;
      const look = () => {
        for (; seen < this.lines.length; seen++) {
          const match = pattern.exec(this.lines[seen] ?? '');
          if (match !== null) return finish(() => resolve(match));
        }
        if (this.over !== null)
          finish(() => reject(new Error(`${this.over} before it said ${pattern}:\n${this.output}`)));
      };
      const timer = setTimeout(
        () =>
          finish(() =>
            reject(new Error(`${this.name} did not say ${pattern} in ${timeoutMs} ms:\n${this.output}`)),
          ),
        timeoutMs,
      );
      const finish = (how: () => void) => {
        clearTimeout(timer);
        this.watchers.delete(look);
        how();
      };
      this.watchers.add(look);
      look();
    });
  }

  /** Ends the process with a signal and waits until it is gone. */
  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.over !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill(signal);
    await exited;
  }

  private notify(): void {
    for (const watcher of [...this.watchers]) watcher();
  }
}
