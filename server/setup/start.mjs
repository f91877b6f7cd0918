// `npm start`: from a fresh clone to a running pool. Plain JavaScript, because it
// runs before any package is installed.
//
// Modes: --setup-only (install and build everything, tests included), --build-only (build, without
// installing Debian packages), --native-only (C++ parts only).
import { mkdirSync } from 'node:fs';
import { installDebianPackages } from './debian.mjs';
import { installNodePackages } from './nodePackages.mjs';
import { buildNative } from './native.mjs';
import { buildUi, bundleServer, generateDatabaseClient } from './web.mjs';
import { takeStartLock } from './startLock.mjs';
import { runPool } from './runPool.mjs';
import { SetupError, dataDir } from './common.mjs';

async function main() {
  const mode = process.argv.find((argument) => argument.startsWith('--'));
  if (mode === '--native-only') return buildNative();
  mkdirSync(dataDir, { recursive: true });
  const lock = mode === undefined ? takeStartLock() : null;
  try {
    const tests = mode === '--setup-only';
    if (mode !== '--build-only') await installDebianPackages({ tests });
    await installNodePackages();
    await generateDatabaseClient();
    await buildNative({ tests });
    await bundleServer();
    await buildUi();
    if (mode === undefined) await runPool();
  } finally {
    lock?.release();
  }
}

main().catch((error) => {
  if (!(error instanceof SetupError)) throw error;
  console.error(`sluice: ${error.message}`);
  process.exitCode = 1;
});
