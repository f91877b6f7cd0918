// The C++ parts: configured once, built incrementally by ninja.
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { root, runStep } from './common.mjs';

/**
 * Builds native/build: client and worker, software GPU, samples.
 * @param {{ tests?: boolean }} [options] the C++ tests as well; a build folder made for them keeps them configured
 */
export async function buildNative({ tests = false } = {}) {
  const fresh = !existsSync(join(root, 'native/build/build.ninja'));
  if (fresh || tests) {
    await runStep('configuring the native build', 'cmake', [
      ...['-G', 'Ninja', '-S', 'native', '-B', 'native/build'],
      `-DSLUICE_TESTS=${tests ? 'ON' : 'OFF'}`,
    ]);
  }
  const jobs = String(availableParallelism());
  await runStep('building the native parts', 'ninja', [
    '-C',
    'native/build',
    '-j',
    jobs,
    tests ? 'all' : 'product',
  ]);
}
