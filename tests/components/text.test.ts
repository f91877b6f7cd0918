import { describe, expect, test } from 'vitest';
import { countOf, formatCount, shortUuid } from '@/components/format/formatCount';
import { formatBytes, formatGib, formatMemory } from '@/components/format/formatMemory';
import { formatDuration } from '@/components/format/formatTime';
import { safeNextPath } from '@/components/signIn/safeNextPath';
import { matchesQuery } from '@/components/ui/matchesQuery';
import { sortRows } from '@/components/ui/sortRows';

describe('memory is MiB and GiB, never GB', () => {
  test.each([
    [81_559, '79.6 GiB'],
    [81_920, '80.0 GiB'],
    [183_359, '179.1 GiB'],
    [1024, '1.0 GiB'],
    [1023, '1023 MiB'],
    [0, '0 MiB'],
  ])('%d MiB', (mib, text) => expect(formatMemory(mib)).toBe(text));
  test('without the unit where the header has it', () => expect(formatGib(46_068)).toBe('45.0'));
  test.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1536, '1.5 KiB'],
    [2 ** 40 * 2.5, '2.5 TiB'],
  ])('%d bytes', (bytes, text) => expect(formatBytes(bytes)).toBe(text));
});

test.each([
  [-5, '0 s'],
  [59_999, '59 s'],
  [124_000, '2 m 04 s'],
  [12_000_000, '3 h 20 m'],
  [190_800_000, '2 d 05 h'],
])('%d ms as a duration', (ms, text) => expect(formatDuration(ms)).toBe(text));

test('counts', () => {
  expect(formatCount(1_234_567)).toBe('1,234,567');
  expect(countOf(1, 'task')).toBe('1 task');
  expect(countOf(0, 'task')).toBe('0 tasks');
  expect(shortUuid('GPU-3f2c81aa-0000-1111-2222-333344445555')).toBe('GPU-3f2c81aa');
});

describe('sorting', () => {
  const sort = (values: (string | number | null)[], descending = false) =>
    sortRows(
      values.map((value, index) => ({ value, key: String(index) })),
      (row) => row.value,
      (row) => row.key,
      descending,
    ).map((row) => row.value);

  test('n/a comes last both ways', () => {
    expect(sort([null, 2, 1])).toEqual([1, 2, null]);
    expect(sort([null, 2, 1], true)).toEqual([2, 1, null]);
  });
  test('numbers in names count as numbers', () =>
    expect(sort(['gpu-10', 'gpu-9'])).toEqual(['gpu-9', 'gpu-10']));
  test('equal values never swap', () => {
    const rows = [{ id: 'b' }, { id: 'a' }];
    const ids = (descending: boolean) =>
      sortRows(
        rows,
        () => 1,
        (row) => row.id,
        descending,
      ).map((row) => row.id);
    expect(ids(false)).toEqual(['a', 'b']);
    expect(ids(true)).toEqual(['a', 'b']);
  });
});

test('a search finds rows that hold every word', () => {
  expect(matchesQuery('ALICE h100', ['NVIDIA H100', 'alice@example.org'])).toBe(true);
  expect(matchesQuery('alice l40s', ['NVIDIA H100', 'alice@example.org'])).toBe(false);
  expect(matchesQuery('', ['anything'])).toBe(true);
});

test.each([
  ['/servers?sort=-memory', '/servers?sort=-memory'],
  ['//evil.example', '/'],
  ['/\\evil.example', '/'],
  ['https://evil.example', '/'],
  [undefined, '/'],
  [['/a', '/b'], '/'],
])('after signing in, %s leads to %s', (next, path) => expect(safeNextPath(next)).toBe(path));
