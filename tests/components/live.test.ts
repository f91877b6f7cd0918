import { describe, expect, test } from 'vitest';
import { dropRows, mergeRows } from '@/components/live/mergeRows';
import { appendSamples, updateGpuReadings } from '@/components/live/mergeTelemetry';
import { clockOffset } from '@/components/data/serverClock';
import { gpuRow, serverRow } from './rows';

const point = (t: number, utilizationPercent: number | null = 50) => ({
  t,
  utilizationPercent,
  memoryUsedMib: 100,
  powerWatts: null,
  temperatureCelsius: null,
});

describe('changed rows', () => {
  const idOf = (row: { id: string }) => row.id;

  test('take the place of the old ones, so no row jumps', () => {
    const rows = [
      { id: 'a', n: 1 },
      { id: 'b', n: 1 },
    ];
    expect(mergeRows(rows, [{ id: 'b', n: 2 }], idOf, 'front')).toEqual([
      { id: 'a', n: 1 },
      { id: 'b', n: 2 },
    ]);
  });
  test('that are new go where the list wants them, once', () => {
    const fresh = { id: 'c', n: 1 };
    expect(mergeRows([{ id: 'a', n: 1 }], [fresh, fresh], idOf, 'front').map(idOf)).toEqual(['c', 'a']);
    expect(mergeRows([{ id: 'a', n: 1 }], [fresh], idOf, 'end').map(idOf)).toEqual(['a', 'c']);
  });
});

test('rows that ended leave the list of current ones', () => {
  const idOf = (row: { id: string }) => row.id;
  expect(dropRows([{ id: 'a' }, { id: 'b' }], [{ id: 'b' }, { id: 'z' }], idOf)).toEqual([{ id: 'a' }]);
});

describe('live samples', () => {
  test('are appended, and what leaves the window is dropped', () => {
    const series = [{ uuid: 'GPU-a', points: [point(1000), point(2000)] }];
    const [appended] = appendSamples(series, [{ uuid: 'GPU-a', point: point(6500) }], 5000);
    expect(appended?.points.map((one) => one.t)).toEqual([2000, 6500]);
  });
  test('that a resumed stream repeats are not taken twice', () => {
    const series = [{ uuid: 'GPU-a', points: [point(1000), point(2000)] }];
    expect(appendSamples(series, [{ uuid: 'GPU-a', point: point(2000) }], 5000)).toEqual(series);
  });
  test('of a GPU seen for the first time begin its series', () => {
    expect(appendSamples([], [{ uuid: 'GPU-n', point: point(1) }], 5000)).toEqual([
      { uuid: 'GPU-n', points: [point(1)] },
    ]);
  });
  test('become the current readings; n/a stays n/a and other servers keep their identity', () => {
    const servers = [
      serverRow('s1', [gpuRow({ uuid: 'GPU-a' })]),
      serverRow('s2', [gpuRow({ uuid: 'GPU-b' })]),
    ];
    const updated = updateGpuReadings(servers, [{ uuid: 'GPU-a', point: point(5, null) }]);
    expect(updated[0]?.gpus[0]).toMatchObject({
      utilizationPercent: null,
      memoryUsedMib: 100,
      powerWatts: null,
    });
    expect(updated[1]).toBe(servers[1]);
  });
});

describe('the clock of the server', () => {
  const serverMs = Date.parse('2026-11-30T12:00:00Z');
  const header = 'Mon, 30 Nov 2026 12:00:00 GMT';
  test.each([
    ['an hour behind', serverMs - 3_600_000, 3_600_500],
    ['an hour ahead', serverMs + 3_600_000, -3_599_500],
    ['right within the header’s resolution', serverMs + 900, 0],
  ])('for a browser that is %s', (_name, browserMs, offset) => {
    expect(clockOffset(header, browserMs)).toBe(offset);
  });
  test('is not guessed from an unreadable header', () => {
    expect(clockOffset(null, 0)).toBeNull();
    expect(clockOffset('soon', 0)).toBeNull();
  });
});
