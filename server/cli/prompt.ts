// Questions at the terminal; without one, answers are lines of standard input.
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';

let piped: AsyncIterator<string> | null = null;

export function askText(question: string): Promise<string> {
  return ask(question, true);
}

/** The answer is not shown while it is typed. */
export function askSecret(question: string): Promise<string> {
  return ask(question, false);
}

async function ask(question: string, echo: boolean): Promise<string> {
  if (process.stdin.isTTY !== true) {
    piped ??= createInterface({ input: process.stdin })[Symbol.asyncIterator]();
    const next = await piped.next();
    return next.done === true ? '' : next.value.trim();
  }
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader: Interface = createInterface({
    input: process.stdin,
    output: echo ? process.stderr : silent,
    terminal: true,
  });
  const answer = await new Promise<string>((resolve) => {
    reader.once('line', resolve);
    reader.once('close', () => resolve(''));
  });
  reader.close();
  if (!echo) process.stderr.write('\n');
  return answer.trim();
}
