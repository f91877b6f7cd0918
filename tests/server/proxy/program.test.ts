import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findProgram, grantEnvironment } from '@/server/proxy/program';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-program-'));
  mkdirSync(join(folder, 'bin/nested'), { recursive: true });
  writeFileSync(join(folder, 'bin/tool'), '#!/bin/sh\n');
  chmodSync(join(folder, 'bin/tool'), 0o755);
  writeFileSync(join(folder, 'bin/notes.txt'), 'text');
  chmodSync(join(folder, 'bin/notes.txt'), 0o644);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a program is found', () => {
  test.each([['tool'], ['./bin/tool'], ['bin/tool']])('as %s', (name) => {
    expect(findProgram(name, `/nowhere:${join(folder, 'bin')}`, folder)).toEqual({
      found: true,
      file: join(folder, 'bin/tool'),
    });
  });
});

describe('a program is not found', () => {
  test.each([
    ['a name in no folder', 'nosuch', 127, /in no folder of PATH/],
    ['a path that is not there', './nosuch', 127, /no such file/],
    ['a folder', 'bin/nested', 126, /is a folder/],
  ])('%s', (_, name, exitCode, message) => {
    expect(findProgram(name, join(folder, 'bin'), folder)).toEqual({
      found: false,
      exitCode,
      message: expect.stringMatching(message),
    });
  });

  // root may execute only what somebody may execute, so this holds for it too.
  test('a file that may not be executed', () => {
    expect(findProgram('bin/notes.txt', '', folder)).toMatchObject({ found: false, exitCode: 126 });
  });
});

describe('the environment of a program', () => {
  const grant = { version: 1, allocation: 'a1', secret: 's', tls: true, servers: [] };
  test.each([
    ['none before', undefined, '/client'],
    ["the user's stay behind", '/opt/a:/opt/b', '/client:/opt/a:/opt/b'],
    ['empty entries, which mean the current folder, are dropped', ':/opt/a::', '/client:/opt/a'],
    ['it is not repeated in a run within a run', '/client:/opt/a', '/client:/opt/a'],
  ])('library path: %s', (_, before, expected) => {
    expect(grantEnvironment(grant, '/client', before).LD_LIBRARY_PATH).toBe(expected);
  });

  test('carries the grant and removes the file of an outer one', () => {
    expect(grantEnvironment(grant, '/client', undefined)).toMatchObject({
      SLUICE_GRANT: JSON.stringify(grant),
      SLUICE_GRANT_FILE: null,
    });
  });
});
