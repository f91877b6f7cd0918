// Debian packages that the build needs: installed when this user may, named exactly when not.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { SetupError, runStep } from './common.mjs';

// Each package with a file or command that shows that it (or its equal from elsewhere) is there.
const needed = [
  ['g++', () => hasCommand('g++')],
  ['cmake', () => hasCommand('cmake')],
  ['ninja-build', () => hasCommand('ninja')],
  ['pkg-config', () => hasCommand('pkg-config')],
  ['libssl-dev', () => hasHeader('openssl/ssl.h')],
  ['libzstd-dev', () => hasHeader('zstd.h')],
  ['liblz4-dev', () => hasHeader('lz4.h')],
];
const neededByTests = [['libgtest-dev', () => hasHeader('gtest/gtest.h')]];

/**
 * Installs what is missing, or throws with the line to run.
 * @param {{ tests?: boolean }} [options] what the C++ tests need as well
 */
export async function installDebianPackages({ tests = false } = {}) {
  const missing = [...needed, ...(tests ? neededByTests : [])]
    .filter(([, present]) => !present())
    .map(([name]) => name);
  if (missing.length === 0) return;
  const line = `apt-get install -y ${missing.join(' ')}`;
  if (process.getuid?.() !== 0 || !hasCommand('apt-get')) {
    throw new SetupError(
      `packages are missing that the build needs. Run: sudo ${line}\nthen npm start again.`,
    );
  }
  console.log(`sluice: installing ${missing.join(' ')}`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  await runStep('refreshing the package lists', 'apt-get', ['update'], { env });
  await runStep(
    'installing Debian packages',
    'apt-get',
    ['install', '-y', '--no-install-recommends', ...missing],
    {
      env,
    },
  );
}

function hasCommand(name) {
  return spawnSync('sh', ['-c', `command -v ${name}`], { stdio: 'ignore' }).status === 0;
}

function hasHeader(path) {
  return ['/usr/include', '/usr/local/include', '/usr/include/x86_64-linux-gnu'].some((dir) =>
    existsSync(`${dir}/${path}`),
  );
}
