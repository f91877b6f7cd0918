// The table of error codes, its documentation and its use agree.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  errorCodes,
  isErrorCode,
  isSluiceError,
  retiredCodes,
  SluiceError,
  toSluiceError,
} from '@/server/errors';

test('the README lists exactly the codes, with their status and text', () => {
  const readme = readFileSync('server/errors/README.md', 'utf8');
  const rows = [...readme.matchAll(/^\| `(\w+)`\s+\| (\d+)\s+\| (.*?)\s*\|$/gm)].map(
    ([, code, http, doc]) => [code, http, doc],
  );
  expect(rows).toEqual(Object.entries(errorCodes).map(([code, info]) => [code, String(info.http), info.doc]));
});

test('no retired code is in use', () => {
  expect(retiredCodes.filter(isErrorCode)).toEqual([]);
});

test('every code is used somewhere', () => {
  const used = execFileSync('git', ['grep', '-hoE', `'[A-Z_]+'`, '--', 'server/**/*.ts', ':!server/errors'], {
    encoding: 'utf8',
  });
  const names = new Set(used.split('\n').map((line) => line.slice(1, -1)));
  expect(Object.keys(errorCodes).filter((code) => !names.has(code))).toEqual([]);
});

test('a SluiceError of another copy of the module is known as one, anything else becomes INTERNAL', () => {
  const foreign = Object.assign(new Error('gone'), { name: 'SluiceError', code: 'TOKEN_NOT_FOUND' });
  expect(isSluiceError(foreign)).toBe(true);
  const cause = new Error('secret detail');
  const unexpected = toSluiceError(cause);
  expect(unexpected).toMatchObject({ code: 'INTERNAL', cause });
  expect(JSON.stringify(unexpected.toWire())).not.toContain('secret detail');
  expect(new SluiceError('INTERNAL', 'x').httpStatus).toBe(500);
});
