// The processes of `npm start`: the control plane, then an agent for this machine's GPUs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdirSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { SetupError, dataDir, root } from './common.mjs';

const readyTimeoutMs = 60_000;
const maxEndingsPerMinute = 5;
let stopped = false;
const preparedCredentials = join(dataDir, 'credentials.json');

/** Runs until Ctrl-C, SIGTERM, or until the control plane ends; then stops what it started. */
export async function runPool() {
  const env = {
    ...process.env,
    NODE_ENV: 'production',
    SLUICE_ROOT: root,
    SLUICE_DATA_DIR: dataDir,
    SLUICE_HOST: process.env.SLUICE_HOST || '127.0.0.1',
    SLUICE_WRITE_CREDENTIALS: '1',
    SLUICE_CREDENTIALS: preparedCredentials,
  };
  const children = [];
  try {
    await serveUntilStopped(children, env);
  } finally {
    stopped = true;
    await stopAll(children);
  }
}

async function serveUntilStopped(children, env) {
  const stopping = stopSignal();
  const startServer = async () => {
    const child = startProcess(children, ['.build/server.mjs'], env);
    return { child, url: await readyLine(child, /^ready (\S+)$/, 'the control plane') };
  };
  const server = await Promise.race([startServer(), stopping]);
  if (server === null) return;
  const { url } = server;
  const startAgent = async () => {
    const state = ['--data-dir', join(dataDir, 'agent'), '--token-file', join(dataDir, 'agent-token')];
    const child = startProcess(children, ['.build/sluice.mjs', 'agent', ...state], {
      ...env,
      SLUICE_URL: url,
    });
    await readyLine(child, /^(agent connected)\b/, 'the agent');
    return { child };
  };
  const agent = await Promise.race([startAgent(), stopping]);
  if (agent === null) return;
  installCredentials();
  const passwordFile = join(dataDir, 'admin-password');
  console.log(`ready ${url}  (sign in as admin@sluice.local; the first password is in ${passwordFile})`);

  const ended = await Promise.race([
    stopping,
    supervise('the control plane', server.child, startServer),
    supervise('the agent', agent.child, startAgent),
  ]);
  if (ended !== null) throw new SetupError(ended);
}

// A control plane or an agent that ends by itself is started again: running programs go on meanwhile,
// and both learn the truth from each other. Resolves with the reason when that does not help.
async function supervise(what, child, start) {
  const endings = [];
  for (let current = child; ;) {
    const [code, signal] = await once(current, 'exit');
    const reason = `${what} ended unexpectedly (${signal ?? `exit status ${code}`}).`;
    endings.push(Date.now());
    if (endings.filter((time) => time > Date.now() - 60_000).length > maxEndingsPerMinute) {
      return `${reason} That was ${maxEndingsPerMinute + 1} times within a minute; its output is above.`;
    }
    if (stopped) return null;
    console.error(`sluice: ${reason} It is started again.`);
    try {
      current = (await start()).child;
    } catch (error) {
      return error.message;
    }
  }
}

// Only a pool that is up becomes the one that this user's commands talk to: a start that fails leaves
// the credentials of another pool alone.
function installCredentials() {
  const configDir = process.env.XDG_CONFIG_HOME || join(homedir(), '.config');
  const file = process.env.SLUICE_CREDENTIALS || join(configDir, 'sluice/credentials.json');
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const aside = `${file}.${process.pid}`;
  copyFileSync(preparedCredentials, aside);
  chmodSync(aside, 0o600);
  renameSync(aside, file);
}

function startProcess(children, args, env) {
  const child = spawn(process.execPath, ['--enable-source-maps', ...args], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true, // Ctrl-C reaches this process alone, which then stops the others in order.
  });
  children.push(child);
  return child;
}

// Passes the process's output on and resolves with the first match's group.
function readyLine(child, pattern, what) {
  return new Promise((settle, fail) => {
    const timer = setTimeout(
      () =>
        fail(new SetupError(`${what} was not ready within ${readyTimeoutMs / 1000} s; its output is above.`)),
      readyTimeoutMs,
    );
    let ready = false;
    createInterface({ input: child.stdout }).on('line', (line) => {
      const match = ready ? null : pattern.exec(line);
      if (match === null) {
        console.log(line);
        return;
      }
      ready = true;
      clearTimeout(timer);
      settle(match[1]);
    });
    child.on('exit', (code) => {
      clearTimeout(timer);
      if (!ready) fail(new SetupError(`${what} could not start (exit status ${code}); the reason is above.`));
    });
  });
}

function stopSignal() {
  return new Promise((settle) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => settle(null));
  });
}

// The agent first, so that it can say goodbye to the control plane.
async function stopAll(children) {
  for (const child of [...children].reverse()) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await exited;
    clearTimeout(timer);
  }
}
