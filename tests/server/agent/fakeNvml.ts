// Builds variants of fakeNvml.c into a temporary folder.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Path of the built library. */
export function buildFakeNvml(folder: string, variant: 'NEW' | 'OLD' | 'HANG' | 'CRASH'): string {
  const library = join(folder, `libnvidia-ml-${variant}.so.1`);
  const source = fileURLToPath(new URL('fakeNvml.c', import.meta.url));
  execFileSync('gcc', [
    '-shared',
    '-fPIC',
    '-O1',
    '-Wall',
    '-Wextra',
    '-Werror',
    `-D${variant}`,
    '-o',
    library,
    source,
  ]);
  return library;
}
