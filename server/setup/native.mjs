// The C++ parts: configured once, built incrementally by ninja.
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { root, runStep } from './common.mjs';

/** Builds native/build (client and worker libraries, software GPU, samples). */
export async function buildNative() {
  if (!existsSync(join(root, 'native/build/build.ninja'))) {
    await runStep('configuring the native build', 'cmake', ['-G', 'Ninja', '-S', 'native', '-B', 'native/build']);
  }
  const jobs = String(availableParallelism());
  await runStep('building the native parts', 'ninja', ['-C', 'native/build', '-j', jobs]);
}
