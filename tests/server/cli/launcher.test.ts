import { execa } from 'execa';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { projectRoot } from '../../integration/bundles';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice launcher-'));
  cpSync(join(projectRoot, 'bin'), join(folder, 'bin'), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function build(): void {
  mkdirSync(join(folder, '.build'));
  writeFileSync(
    join(folder, '.build/sluice.mjs'),
    'console.log(JSON.stringify(process.argv.slice(2))); process.exitCode = 7;',
  );
}

test.each(['sluice', 'bitfusion'])('%s passes arguments and exit status on', async (name) => {
  build();
  const result = await execa(join(folder, 'bin', name), ['run', '--', 'a b', '*'], { reject: false });
  expect(result).toMatchObject({ exitCode: 7, stdout: '["run","--","a b","*"]' });
});

test('it may be called through a link', async () => {
  build();
  symlinkSync(join(folder, 'bin/bitfusion'), join(folder, 'linked'));
  expect(await execa(join(folder, 'linked'), ['version'], { reject: false })).toMatchObject({
    stdout: '["version"]',
  });
});

test('before the first build it says what to do', async () => {
  const result = await execa(join(folder, 'bin/sluice'), ['version'], { reject: false });
  expect(result).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/^sluice: .*not built yet.*npm start/),
  });
});

test('without Node.js it says what is missing', async () => {
  build();
  // Only what the launcher itself needs.
  mkdirSync(join(folder, 'tools'));
  for (const tool of ['readlink', 'dirname', 'sh'])
    symlinkSync(`/usr/bin/${tool}`, join(folder, 'tools', tool));
  const env = { PATH: join(folder, 'tools') };
  const result = await execa(join(folder, 'bin/sluice'), ['version'], {
    reject: false,
    extendEnv: false,
    env,
  });
  expect(result).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('Node.js was not found') });
});
