// One `npm start` per data directory: the second says that the first runs.
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError, dataDir } from './common.mjs';

/** Takes the lock or throws with the pid that holds it. A lock whose process is gone is taken over. */
export function takeStartLock() {
  const path = join(dataDir, 'start.pid');
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      const file = openSync(path, 'wx', 0o600);
      writeSync(file, String(process.pid));
      closeSync(file);
      return { release: () => rmSync(path, { force: true }) };
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      const pid = Number(readFileSync(path, 'utf8'));
      if (isRunning(pid)) {
        throw new SetupError(
          `Sluice is already running from this folder (process ${pid}, data in ${dataDir}). ` +
            'Stop it with Ctrl-C there, or set SLUICE_DATA_DIR, SLUICE_PORT and SLUICE_DATA_PORT to start another.',
        );
      }
      rmSync(path, { force: true });
    }
  }
  throw new SetupError(`cannot take ${path}: another start is taking it at this moment. Try again.`);
}

// A pid may have been reused since: only a process that runs this script counts.
function isRunning(pid) {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('server/setup/start.mjs');
  } catch {
    return false;
  }
}
