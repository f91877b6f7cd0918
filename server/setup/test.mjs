// `npm test`: sets up as `npm start` does, then runs every test: C++ (ctest), then TypeScript (vitest).
// Arguments go to vitest: `npm test -- tests/server`.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { root } from './common.mjs';

const setup = spawnSync(process.execPath, ['server/setup/start.mjs', '--setup-only'], {
  cwd: root,
  stdio: 'inherit',
});
if (setup.status !== 0) process.exit(setup.status ?? 1);

const vitestArguments = process.argv.slice(2);
const native =
  vitestArguments.length > 0 ? 0 : await run('ctest', ['--test-dir', 'native/build', '--output-on-failure']);
const typescript = await run('npx', ['vitest', 'run', ...vitestArguments]);
process.exitCode = native || typescript;

async function run(command, args) {
  const child = spawn(command, args, { cwd: root, stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  return code ?? 1;
}
