// `npm run test:gpu`: on a machine with an NVIDIA GPU runs the programs of tests/cuda on its real driver, directly
// and through the proxy, and compares. SLUICE_DRIVER names the libcuda.so.1 when it is not where the loader looks.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { root } from './common.mjs';

const driver = process.env.SLUICE_DRIVER || systemDriver();
if (driver === null || !existsSync(driver)) {
  console.error(
    'There is no NVIDIA driver on this machine: `ldconfig -p` knows no libcuda.so.1. Nothing was tested. ' +
      'Install the driver, or set SLUICE_DRIVER to its libcuda.so.1.',
  );
  process.exit(1);
}
console.log(`Testing on ${driver}.`);
const setup = spawnSync(process.execPath, ['server/setup/start.mjs', '--setup-only'], {
  cwd: root,
  stdio: 'inherit',
});
if (setup.status !== 0) process.exit(setup.status ?? 1);
const tests = ['tests/cuda/driver.test.ts', 'tests/cuda/samples.test.ts'];
const run = spawnSync('npx', ['vitest', 'run', '--project', 'cuda', ...tests], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, SLUICE_TEST_DRIVER: driver },
});
process.exitCode = run.status ?? 1;

/** Where the loader finds NVIDIA's driver library; null when it finds none. */
function systemDriver() {
  for (const loader of ['ldconfig', '/sbin/ldconfig']) {
    const { stdout } = spawnSync(loader, ['-p'], { encoding: 'utf8' });
    const found = /libcuda\.so\.1 .*=> (\S+)/.exec(stdout ?? '');
    if (found) return found[1];
  }
  return null;
}
