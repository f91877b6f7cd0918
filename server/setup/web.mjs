// The TypeScript parts: Prisma's client, the bundles that Node runs, the dashboard.
import { root, runStep, whenStale } from './common.mjs';

const uiInputs = [
  'app',
  'components',
  'public',
  'next.config.ts',
  'postcss.config.mjs',
  'package-lock.json',
  'server/api',
  'server/auth',
];

/** Generates server/db/client from the schema. */
export async function generateDatabaseClient() {
  const inputs = ['prisma/schema.prisma', 'prisma.config.ts', 'package-lock.json'];
  await whenStale('.build/prisma.stamp', inputs, 'server/db/client', () =>
    runStep('generating the database client', 'npx', ['prisma', 'generate'], {
      // Prisma's command line wants to fetch a schema engine; generating code does not use it.
      env: { PRISMA_SCHEMA_ENGINE_BINARY: '/bin/true' },
    }),
  );
}

/** Bundles the control plane and the command line into .build/. */
export async function bundleServer() {
  const { build } = await import('esbuild');
  await build({
    absWorkingDir: root,
    entryPoints: { server: 'server/main.ts', sluice: 'server/cli/main.ts' },
    outdir: '.build',
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
}

/** `next build`, when a source of the dashboard changed since the last one. */
export async function buildUi() {
  await whenStale('.build/ui.stamp', uiInputs, '.next/BUILD_ID', () =>
    runStep('building the dashboard', 'npx', ['next', 'build'], { env: { NEXT_TELEMETRY_DISABLED: '1' } }),
  );
}
