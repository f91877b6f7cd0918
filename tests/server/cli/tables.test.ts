import { describe, expect, test } from 'vitest';
import { freeMib, serverLines } from '@/server/cli/commands/list_gpus';
import { duration, table } from '@/server/cli/output';
import { smiTables } from '@/server/cli/smiTables';
import { gpuRow, serverRow, taskRow } from './rows';

describe('list_gpus', () => {
  test("prints Bitfusion's lines", () => {
    expect(serverLines(serverRow(), 0)).toBe(
      '- server 0 [10.110.165.153:56001]: running 0 tasks\n|- GPU 0: free memory 16160 MiB / 16160 MiB',
    );
  });

  test('tells nothing of a server that is away', () => {
    expect(serverLines(serverRow({ connected: false, state: 'unreachable' }), 1)).toBe(
      '- server 1 [10.110.165.153:56001]: unreachable',
    );
  });

  test.each([
    ['nothing granted or used', {}, 16160],
    ['granted, not yet used', { grantedMib: 2048 }, 14112],
    ['used by something that the pool did not start', { memoryUsedMib: 6160, memoryFreeMib: 10000 }, 10000],
    ['the whole GPU granted', { grantedMib: 16160 }, 0],
    ['memory that the device does not tell', { memoryFreeMib: null, grantedMib: 160 }, 16000],
  ])('free memory with %s', (_, changes, expected) => expect(freeMib(gpuRow(changes))).toBe(expected));
});

describe('smi', () => {
  const at = new Date(0);

  test('every line of the tables has the same width', () => {
    const text = smiTables([serverRow()], [taskRow({ command: 'x'.repeat(300) })], at);
    const widths = text
      .split('\n')
      .slice(1)
      .filter((line) => line !== '')
      .map((line) => line.length);
    expect(new Set(widths)).toEqual(new Set([91]));
  });

  test('shows GPU and program', () => {
    const text = smiTables([serverRow({ gpus: [gpuRow({ memoryUsedMib: 300 })] })], [taskRow()], at);
    expect(text).toContain('300MiB / 16160MiB');
    expect(text).toMatch(/0:0 +ann@laptop +4711 +\.\/matrix_mul 512 +300MiB/);
  });

  test('shows programs that the pool did not start', () => {
    const processes = [{ pid: 99, name: '/usr/bin/foreign', usedMib: null, taskId: null }];
    expect(smiTables([serverRow({ gpus: [gpuRow({ processes })] })], [], at)).toMatch(
      /gpu1 +99 +\/usr\/bin\/foreign +N\/A/,
    );
  });

  test('what is not told is N/A, never 0', () => {
    const gpu = gpuRow({
      memoryUsedMib: null,
      utilizationPercent: null,
      powerWatts: null,
      temperatureCelsius: null,
    });
    const text = smiTables([serverRow({ gpus: [gpu], driverVersion: null })], [], at);
    expect(text).toContain('N/A / 16160MiB');
    expect(text).not.toMatch(/\b0(%|MiB|W|C)/);
  });

  test('figures of a server that is away are not shown as if they were true', () => {
    expect(smiTables([serverRow({ connected: false })], [], at)).toContain('N/A / 16160MiB');
  });

  test("a program's name cannot break the table", () => {
    expect(smiTables([serverRow()], [taskRow({ command: 'a\n\u001b[2Jb' })], at)).toContain('a  [2Jb');
  });
});

test('columns are as wide as their widest cell', () => {
  expect(table(['A', 'Long heading'], [['value', null]])).toBe('A      Long heading\nvalue  n/a');
});

test.each([
  [0, '0 s'],
  [59_000, '59 s'],
  [61_000, '1 min'],
  [7_500_000, '2 h 5 min'],
  [3 * 86_400_000, '3 d 0 h'],
  [-5, '0 s'],
])('%d ms is %s', (milliseconds, text) => expect(duration(milliseconds)).toBe(text));
