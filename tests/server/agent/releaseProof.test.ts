import { describe, expect, test } from 'vitest';
import { judge, takeBaseline, toleranceMib } from '@/server/agent/releaseProof';
import type { GpuSample } from '@/protocol/control/agentMessages';

const uuid = 'GPU-a';
type Process = [pid: number, usedMib: number | null];

function sample(memoryUsedMib: number | null, ...processes: Process[]): GpuSample {
  return {
    uuid,
    memoryTotalMib: 8192,
    memoryUsedMib,
    memoryFreeMib: null,
    memoryReservedMib: null,
    utilizationPercent: null,
    powerWatts: null,
    temperatureCelsius: null,
    processes: processes.map(([pid, usedMib]) => ({ pid, name: null, usedMib })),
  };
}

function verdict(before: GpuSample, after: GpuSample, ours: number[]) {
  const [baseline] = takeBaseline([uuid], [before]);
  if (baseline === undefined) throw new Error('no baseline');
  return judge(baseline, new Set(ours), [after]);
}

// Process 1 is the allocation's, 2 and 3 are others'.
const free: [string, GpuSample, GpuSample][] = [
  ['nothing ran', sample(0), sample(0)],
  ['its memory is back', sample(1000, [1, 1000]), sample(0)],
  ['another program stays as it was', sample(1500, [1, 1000], [2, 500]), sample(500, [2, 500])],
  ['another program grew meanwhile', sample(1500, [1, 1000], [2, 500]), sample(3000, [2, 3000])],
  ['another program began meanwhile', sample(1000, [1, 1000]), sample(700, [3, 700])],
  ['the driver kept a little', sample(1000, [1, 1000]), sample(toleranceMib)],
  ['what no process explained before', sample(1300, [1, 1000]), sample(300)],
  ['memory is not told at all', sample(null, [1, null]), sample(null)],
  ['memory of processes is not told', sample(1000, [1, null]), sample(0)],
];

const notFree: [string, GpuSample, GpuSample, RegExp][] = [
  [
    'its process is still there',
    sample(1000, [1, 1000]),
    sample(1000, [1, 1000]),
    /process 1 .* still on GPU/,
  ],
  [
    'a process without memory is still there',
    sample(null, [1, null]),
    sample(null, [1, null]),
    /still on GPU/,
  ],
  [
    'memory did not come back',
    sample(1000, [1, 1000]),
    sample(toleranceMib + 1),
    /65 MiB .* did not come back/,
  ],
];

describe('a GPU counts as free when', () => {
  test.each(free)('%s', (_, before, after) => {
    expect(verdict(before, after, [1])).toMatchObject({ free: true, gpu: { uuid, processesLeft: 0 } });
  });
});

describe('a GPU does not count as free when', () => {
  test.each(notFree)('%s', (_, before, after, reason) => {
    expect(verdict(before, after, [1])).toEqual({ free: false, reason: expect.stringMatching(reason) });
  });

  test('it does not answer any more', () => {
    const [baseline] = takeBaseline([uuid], [sample(0)]);
    if (baseline === undefined) throw new Error('no baseline');
    expect(judge(baseline, new Set(), [])).toMatchObject({ free: false });
  });
});
