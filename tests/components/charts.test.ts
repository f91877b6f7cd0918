import { describe, expect, test } from 'vitest';
import { assignColours } from '@/components/charts/colours';
import { prepareGpuUtilization } from '@/components/charts/prepareGpuUtilization';
import { prepareMemory, sumMemory } from '@/components/charts/prepareMemory';
import { preparePoolUtilization } from '@/components/charts/preparePoolUtilization';
import { prepareSparkline } from '@/components/charts/prepareSparkline';
import { meanPerStep, timeGrid, type TimeGrid } from '@/components/charts/timeGrid';
import type { TelemetrySeries } from '@/components/trpc/types';
import { gpuRow, held, serverRow } from './rows';

const grid: TimeGrid = { startMs: 10_000, stepMs: 2000, count: 4 };

function series(uuid: string, points: [number, number | null][]): TelemetrySeries {
  return {
    uuid,
    points: points.map(([t, utilizationPercent]) => ({
      t,
      utilizationPercent,
      memoryUsedMib: null,
      powerWatts: null,
      temperatureCelsius: null,
    })),
  };
}

describe('the grid of a live chart', () => {
  test('ends with the step that holds now and has whole steps', () => {
    expect(timeGrid(19_999, 8, 2)).toEqual({ startMs: 12_000, stepMs: 2000, count: 4 });
  });
  test('moves by whole steps: points stay where they were', () => {
    expect(timeGrid(20_000, 8, 2).startMs - timeGrid(19_999, 8, 2).startMs).toBe(2000);
    expect(timeGrid(21_999, 8, 2)).toEqual(timeGrid(20_000, 8, 2));
  });
});

describe('samples in steps', () => {
  test.each([
    [
      'the mean of a step',
      [
        [10_000, 10],
        [11_999, 30],
      ],
      [20, null, null, null],
    ],
    [
      'a step without samples is a gap',
      [
        [10_500, 5],
        [16_500, 7],
      ],
      [5, null, null, 7],
    ],
    [
      'n/a is a gap, never 0',
      [
        [12_100, null],
        [14_000, 0],
      ],
      [null, null, 0, null],
    ],
    [
      'n/a beside a value does not count',
      [
        [12_100, null],
        [12_900, 40],
      ],
      [null, 40, null, null],
    ],
    [
      'outside the window is left out',
      [
        [9999, 50],
        [18_000, 50],
      ],
      [null, null, null, null],
    ],
  ] as [string, [number, number | null][], (number | null)[]][])('%s', (_name, samples, expected) => {
    expect(
      meanPerStep(
        samples.map(([t, value]) => ({ t, value })),
        grid,
      ),
    ).toEqual(expected);
  });
});

describe('utilization of the pool', () => {
  const servers = [
    serverRow('s1', [gpuRow({ uuid: 'GPU-a' }), gpuRow({ uuid: 'GPU-b' })]),
    serverRow('s2', [gpuRow({ uuid: 'GPU-c' })]),
  ];

  test('bands add up to the mean of the GPUs that reported', () => {
    const prepared = preparePoolUtilization(
      servers,
      [series('GPU-a', [[10_000, 90]]), series('GPU-b', [[10_000, 30]]), series('GPU-c', [[10_000, 60]])],
      grid,
    );
    expect(prepared.rows[0]).toEqual({ t: 10_000, bands: { s1: 40, s2: 20 }, total: 60, reporting: 3 });
    expect(prepared.rows[1]).toEqual({ t: 12_000, bands: { s1: null, s2: null }, total: null, reporting: 0 });
  });
  test('a silent server is a gap and does not press the mean down', () => {
    const prepared = preparePoolUtilization(servers, [series('GPU-c', [[12_000, 80]])], grid);
    expect(prepared.rows[1]).toEqual({ t: 12_000, bands: { s1: null, s2: 80 }, total: 80, reporting: 1 });
  });
  test('more servers than can be told apart share the last band', () => {
    const many = Array.from({ length: 9 }, (_, index) =>
      serverRow(`n${index}`, [gpuRow({ uuid: `GPU-${index}` })]),
    );
    const busy = many.map((_, index) => series(`GPU-${index}`, [[10_000, 90]]));
    const prepared = preparePoolUtilization(many, busy, grid);
    expect(prepared.bands.map((band) => band.label)).toEqual([
      'host-n0',
      'host-n1',
      'host-n2',
      'host-n3',
      'host-n4',
      '4 others',
    ]);
    expect(prepared.hiddenServers).toBe(4);
    expect(prepared.rows[0]?.bands.others).toBeCloseTo(40);
    expect(prepared.rows[0]?.total).toBeCloseTo(90);
  });
});

test('utilization of single GPUs keeps a column for one without samples', () => {
  const rows = prepareGpuUtilization(['GPU-a', 'GPU-z'], [series('GPU-a', [[16_000, 12]])], grid);
  expect(rows.map((row) => row.values['GPU-a'])).toEqual([null, null, null, 12]);
  expect(rows.map((row) => row.values['GPU-z'])).toEqual([null, null, null, null]);
});

describe('a sparkline', () => {
  test('draws 100 at the top and 0 at the bottom', () => {
    expect(prepareSparkline([0, 100, 50], 100, 20)).toBe('M0 20L50 0L100 10');
  });
  test('lifts the pen at a gap and shows a lone point', () => {
    expect(prepareSparkline([50, null, 50, null, 0], 100, 20)).toBe('M0 10h1M50 10h1M100 20h1');
  });
  test('has nothing to draw without values', () => {
    expect(prepareSparkline([null, null, null], 100, 20)).toBe('');
    expect(prepareSparkline([50], 100, 20)).toBe('');
  });
});

describe('memory of a GPU', () => {
  const parts = (gpu: ReturnType<typeof gpuRow>) => {
    const memory = prepareMemory(gpu);
    const { usedByPool, grantedUnused, foreign, reserved, free, total } = memory;
    expect(usedByPool + grantedUnused + foreign + reserved + free).toBeCloseTo(total);
    return { usedByPool, grantedUnused, foreign, reserved, free };
  };
  const small = gpuRow({ memoryTotalMib: 8192, memoryReservedMib: 192 });

  test.each([
    ['nobody holds it', small, { usedByPool: 0, grantedUnused: 0, foreign: 0, reserved: 192, free: 8000 }],
    [
      'granted and partly used',
      held({ ...small, memoryUsedMib: 500 }, 2048),
      { usedByPool: 500, grantedUnused: 1548, foreign: 0, reserved: 192, free: 5952 },
    ],
    [
      'a whole GPU never shows free memory',
      held({ ...small, memoryUsedMib: 500 }, null),
      { usedByPool: 500, grantedUnused: 7500, foreign: 0, reserved: 192, free: 0 },
    ],
    [
      'programs from outside the pool are told apart',
      held(
        { ...small, memoryUsedMib: 1500, processes: [{ pid: 9, name: 'x', usedMib: 1000, taskId: null }] },
        2048,
      ),
      { usedByPool: 500, grantedUnused: 1548, foreign: 1000, reserved: 192, free: 4952 },
    ],
    [
      'a device that does not tell shows only what is granted',
      held({ ...small, memoryUsedMib: null, memoryReservedMib: null }, 2048),
      { usedByPool: 0, grantedUnused: 2048, foreign: 0, reserved: 0, free: 6144 },
    ],
  ])('%s', (_name, gpu, expected) => {
    expect(parts(gpu)).toEqual(expected);
  });

  test('use that is not told stays n/a, alone and in a sum of such', () => {
    const unknown = prepareMemory(gpuRow({ memoryUsedMib: null }));
    const known = prepareMemory(gpuRow({ memoryUsedMib: 100 }));
    expect(unknown.used).toBeNull();
    expect(sumMemory([unknown, unknown]).used).toBeNull();
    expect(sumMemory([unknown, known])).toMatchObject({ used: 100, total: 2 * 81_559 });
  });
});

test('an id keeps its colour as long as the list is the same', () => {
  const colours = assignColours(['GPU-a', 'GPU-b']);
  expect(colours.get('GPU-a')).toBe('var(--chart-1)');
  expect(colours.get('GPU-b')).toBe('var(--chart-2)');
});
