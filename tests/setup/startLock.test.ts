import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

// Takes the lock as `npm start` does, says so, and holds it until its standard input ends.
const holder = `
  import('./server/setup/startLock.mjs').then(({ takeStartLock }) => {
    const lock = takeStartLock();
    console.log('held');
    process.stdin.resume().on('end', () => lock.release());
  }).catch((error) => { console.error(error.message); process.exitCode = 1; });`;

let dataDir: string;
beforeEach(() => void (dataDir = mkdtempSync(join(tmpdir(), 'sluice-lock-'))));
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

function start() {
  const child = spawn(process.execPath, ['-e', holder, 'server/setup/start.mjs'], {
    env: { ...process.env, SLUICE_DATA_DIR: dataDir },
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  return { child, held: once(child.stdout, 'data'), said: () => said };
}

describe('npm start in a data directory', () => {
  it('says that the first runs, with its process, and leaves the first its lock', async () => {
    const first = start();
    await first.held;
    const second = start();
    const [code] = (await once(second.child, 'exit')) as [number];
    expect(code).toBe(1);
    expect(second.said()).toContain(`already running from this folder (process ${first.child.pid}`);
    expect(readFileSync(join(dataDir, 'start.pid'), 'utf8')).toBe(String(first.child.pid));
    first.child.stdin.end();
    await once(first.child, 'exit');
  });

  it('takes over the lock of a process that was killed', async () => {
    const first = start();
    await first.held;
    first.child.kill('SIGKILL');
    await once(first.child, 'exit');
    const second = start();
    await second.held;
    second.child.stdin.end();
    const [code] = (await once(second.child, 'exit')) as [number];
    expect(code).toBe(0);
  });

  it('takes over a lock whose pid is another program now', async () => {
    writeFileSync(join(dataDir, 'start.pid'), String(process.pid));
    const child = start();
    await child.held;
    child.child.stdin.end();
    const [code] = (await once(child.child, 'exit')) as [number];
    expect(code).toBe(0);
  });
});
