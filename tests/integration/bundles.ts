// The program under test, bundled once per test process from the sources as they are now.
import { build } from 'esbuild';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const projectRoot = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

export interface Bundles {
  readonly server: string;
  readonly sluice: string;
}

let bundles: Promise<Bundles> | undefined;

/** Paths of the control plane's and the command line's entry points, as `npm start` builds them but apart from those. */
export function bundleForTests(): Promise<Bundles> {
  bundles ??= bundle();
  return bundles;
}

async function bundle(): Promise<Bundles> {
  const folder = join(projectRoot, '.build', `tests-${process.pid}`);
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  removeLeftBundles(join(projectRoot, '.build'));
  await build({
    absWorkingDir: projectRoot,
    entryPoints: { server: 'server/main.ts', sluice: 'server/cli/main.ts' },
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    sourcemap: true,
    logLevel: 'warning',
  });
  return { server: join(folder, 'server.mjs'), sluice: join(folder, 'sluice.mjs') };
}

/** Of test processes that were killed. */
function removeLeftBundles(folder: string): void {
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const pid = /^tests-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`))
      rmSync(join(folder, name), { recursive: true, force: true });
  }
}
