// Who this agent is: a key in its data folder. Host names and machine ids may
// repeat, addresses may change; the key does not.
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { SluiceError } from '../errors';

/** The agent's id, from its key, which is made when there is none. Throws when the key cannot be read. */
export function loadAgentId(dataDir: string): string {
  const file = join(dataDir, 'identity-key.pem');
  if (!existsSync(file)) {
    const { privateKey } = generateKeyPairSync('ed25519');
    writeFileSync(`${file}.new`, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
  const publicKey = createPublicKey(createPrivateKey(readFileSync(file)));
  const digest = createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
  return `agent-${digest.slice(0, 32)}`;
}

/** The system's own id; null where it has none. Cloned machines share it. */
export function machineId(): string | null {
  try {
    return readFileSync('/etc/machine-id', 'utf8').trim() || null;
  } catch {
    return null;
  }
}

/**
 * Makes the data folder and takes it for this process alone, until it ends in whatever way. Throws
 * DATA_DIR_IN_USE, naming the process that has it.
 */
export async function takeDataDir(dataDir: string): Promise<void> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const pidFile = join(dataDir, 'agent.pid');
  const name = createHash('sha256').update(realpathSync(dataDir)).digest('hex').slice(0, 32);
  // An abstract socket: the kernel gives the name to one process and takes it back when that one dies.
  const lock = createServer().unref();
  await new Promise<void>((resolve, reject) => {
    lock.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') return reject(error);
      const pid = existsSync(pidFile) ? readFileSync(pidFile, 'utf8').trim() : 'unknown';
      reject(
        new SluiceError('DATA_DIR_IN_USE', `An agent already runs on ${dataDir} (process ${pid}).`, {
          hint: 'Stop it, or give this one another --data-dir and SLUICE_DATA_PORT.',
        }),
      );
    });
    lock.listen(`\0sluice-agent-${name}`, resolve);
  });
  writeFileSync(pidFile, String(process.pid), { mode: 0o600 });
}
