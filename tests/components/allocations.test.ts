import { describe, expect, test } from 'vitest';
import { preparePlacement } from '@/components/allocations/preparePlacement';
import { emptyForm, prepareRequest, type AllocationForm } from '@/components/allocations/prepareRequest';
import { prepareOverview } from '@/components/overview/prepareOverview';
import { allocationRow, gpuRow, held, serverRow, taskRow } from './rows';

const gpu = (uuid: string, index: number, serverId = 's1') =>
  gpuRow({ uuid, index, serverId, memoryTotalMib: 8192, memoryReservedMib: 0 });

describe('the form', () => {
  const form = (changes: Partial<AllocationForm>) => prepareRequest({ ...emptyForm, ...changes });

  test('asks for one whole GPU for eight hours unless told otherwise', () => {
    expect(form({}).request).toEqual({ gpus: 1, leaseSeconds: 28_800, waitSeconds: 0 });
  });
  test('sends the kind of memory that is chosen, and only that', () => {
    expect(form({ memoryKind: 'mib', memoryMib: ' 2048 ' }).request).toMatchObject({ memoryMib: 2048 });
    expect(form({ memoryKind: 'mib', memoryMib: '2048' }).request?.fraction).toBeUndefined();
    expect(form({ memoryKind: 'share', sharePercent: '12.5' }).request).toMatchObject({ fraction: 0.125 });
    expect(form({ memoryKind: 'whole', memoryMib: 'nonsense' }).request).not.toBeNull();
  });
  test('names the GPU that was pointed at', () => {
    expect(form({ gpuUuid: 'GPU-a' }).request?.filters).toEqual([{ key: 'device.uuid', value: 'GPU-a' }]);
  });
  test.each([
    [{ gpus: '0' }, 'gpus'],
    [{ gpus: '' }, 'gpus'],
    [{ gpus: '1.5' }, 'gpus'],
    [{ gpus: '-1' }, 'gpus'],
    [{ gpus: '99999' }, 'gpus'],
    [{ memoryKind: 'mib', memoryMib: '2 GiB' }, 'memory'],
    [{ memoryKind: 'mib', memoryMib: '0' }, 'memory'],
    [{ memoryKind: 'share', sharePercent: '0' }, 'memory'],
    [{ memoryKind: 'share', sharePercent: '101' }, 'memory'],
    [{ memoryKind: 'share', sharePercent: '' }, 'memory'],
    [{ memoryKind: 'share', sharePercent: 'half' }, 'memory'],
  ] as [Partial<AllocationForm>, 'gpus' | 'memory'][])('refuses %o at its field', (changes, field) => {
    const { request, errors } = form(changes);
    expect(request).toBeNull();
    expect(errors[field]).toBeTruthy();
  });
});

describe('the preview of a placement', () => {
  const pool = [
    serverRow('s1', [gpu('GPU-a', 0), held(gpu('GPU-b', 1), 6144)]),
    serverRow('s2', [gpu('GPU-c', 0, 's2'), held(gpu('GPU-d', 1, 's2'), null)]),
  ];

  test('a part goes where the least is left over', () => {
    expect(preparePlacement(pool, { gpus: 1, memoryMib: 2048 })).toMatchObject({
      chosen: ['GPU-b'],
      obstacle: null,
    });
  });
  test('a whole GPU is one that nobody holds', () => {
    expect(preparePlacement(pool, { gpus: 1 }).chosen).toEqual(['GPU-a']);
  });
  test('a share is taken of what the GPU has', () => {
    expect(preparePlacement(pool, { gpus: 1, fraction: 0.25 }).chosen).toEqual(['GPU-b']);
    expect(preparePlacement(pool, { gpus: 1, fraction: 0.26 }).chosen).toEqual(['GPU-a']);
  });
  test('the wanted GPU and server are kept to', () => {
    const filters = [{ key: 'device.uuid', value: 'GPU-c' }];
    expect(preparePlacement(pool, { gpus: 1, filters }).chosen).toEqual(['GPU-c']);
    expect(preparePlacement(pool, { gpus: 1, serverList: ['s2:56001'] }).chosen).toEqual(['GPU-c']);
  });
  test.each([
    ['no server at all', [], { gpus: 1 }, 'No server of the pool is ready'],
    [
      'no server that is ready',
      [serverRow('s1', [gpu('GPU-a', 0)], { state: 'cordoned' })],
      { gpus: 1 },
      'No server of the pool is ready',
    ],
    ['too many GPUs', pool, { gpus: 3 }, 'at most 2 GPUs'],
    ['more memory than any GPU has', pool, { gpus: 1, memoryMib: 9000 }, 'The largest GPU has 8.0 GiB'],
    ['GPUs free on different servers only', pool, { gpus: 2 }, 'Only 2 GPUs here are held by nobody'],
    [
      'a GPU that somebody holds',
      pool,
      { gpus: 1, filters: [{ key: 'device.uuid', value: 'GPU-d' }] },
      'Wait until something is given back',
    ],
  ] as [string, typeof pool, Parameters<typeof preparePlacement>[1], string][])(
    '%s: says what stands in the way',
    (_name, servers, request, words) => {
      const { chosen, obstacle } = preparePlacement(servers, request);
      expect(chosen).toEqual([]);
      expect(obstacle).toContain(words);
    },
  );
});

test('the overview counts each GPU once and takes the unreachable for neither free nor unhealthy', () => {
  const servers = [
    serverRow('s1', [held(gpu('GPU-a', 0), 1024), held(gpu('GPU-b', 1), null), gpu('GPU-c', 2)]),
    serverRow('s2', [gpu('GPU-d', 0, 's2')], { state: 'unreachable', connected: false }),
    serverRow('s3', [{ ...gpu('GPU-e', 0, 's3'), health: 'unhealthy' }]),
  ];
  const allocations = [
    allocationRow(),
    allocationRow({ id: 'a2', state: 'queued' }),
    allocationRow({ id: 'a3', state: 'released' }),
  ];
  const tasks = [taskRow(), taskRow({ id: '2', endedAt: 5, gpus: [{ uuid: 'GPU-b', usedBytes: 0 }] })];
  expect(prepareOverview(servers, allocations, tasks)).toEqual({
    gpus: 5,
    granted: 2,
    grantedIdle: 1,
    free: 1,
    unhealthy: 1,
    servers: 3,
    serversNotReady: 1,
    runningTasks: 1,
    activeAllocations: 1,
    queued: 1,
  });
});
