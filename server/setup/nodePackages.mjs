// The packages of package-lock.json.
import { SetupError, runStep, whenStale } from './common.mjs';

/** `npm ci`, when the lock file changed since the last time or node_modules is not there. */
export async function installNodePackages() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 9)) {
    throw new SetupError(`Node.js ${process.versions.node} is too old: version 20.9 or newer is needed.`);
  }
  await whenStale('node_modules/.sluice-stamp', ['package-lock.json'], 'node_modules', () =>
    runStep('installing npm packages', 'npm', ['ci', '--no-audit', '--no-fund', '--include=dev'], {
      // Prisma's command line wants to fetch an engine from elsewhere; only its code generator is used here.
      env: { PRISMA_SCHEMA_ENGINE_BINARY: '/bin/true' },
      hint: 'The output above says why; a proxy or registry setting of npm is the usual cause.',
    }),
  );
}
