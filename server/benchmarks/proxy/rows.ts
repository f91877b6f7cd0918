// The rows of the table: what limits each and how much of that must be reached.

export interface Row {
  readonly id: string;
  readonly figure: string;
  readonly unit: 'µs' | 'ms' | '/s' | 'GB/s' | 'round trips' | 'bytes' | '×';
  /** `<run>.<value>` through the proxy, or `count.<id>.<value>`. */
  readonly ours: string;
  /** What it is compared with: `raw.<value>`, `direct.<run>.<value>`, or another run's `<run>.<value>`. */
  readonly limit: string | null;
  /** Relative to the limit, or absolute; null: shown only. */
  readonly bar: { readonly of: 'limit' | 'value'; readonly least?: number; readonly most?: number } | null;
}

const most = (value: number, of: 'limit' | 'value' = 'value') => ({ of, most: value });
const least = (value: number, of: 'limit' | 'value' = 'value') => ({ of, least: value });

function copyRows(
  id: string,
  name: string,
  to: string,
  from: string,
  bars: readonly [number, number],
): Row[] {
  return ['', '-softgpu'].flatMap((suffix) => {
    const where = suffix === '' ? '' : ', software GPU, compared';
    return [
      {
        id: id + suffix,
        figure: `${name}, to the device${where}`,
        unit: 'GB/s',
        ours: `${id}${suffix}.to`,
        limit: to,
        bar: least(bars[0], 'limit'),
      },
      {
        id: id + suffix,
        figure: `${name}, back${where}`,
        unit: 'GB/s',
        ours: `${id}${suffix}.from`,
        limit: from,
        bar: least(bars[1], 'limit'),
      },
    ] satisfies Row[];
  });
}

export const rows: readonly Row[] = [
  {
    id: 'sync',
    figure: 'synchronous call, p50; the limit sleeps',
    unit: 'µs',
    ours: 'sync.us',
    limit: 'raw.asleepMicroseconds',
    bar: most(1, 'limit'),
  },
  {
    id: 'sync',
    figure: 'the same; cores are free to poll',
    unit: 'µs',
    ours: 'sync.us',
    limit: 'raw.asleepMicroseconds',
    bar: most(0.5, 'limit'),
  },
  {
    id: 'sync',
    figure: 'the same; the limit polls on both sides',
    unit: 'µs',
    ours: 'sync.us',
    limit: 'raw.pollingMicroseconds',
    bar: null,
  },
  {
    id: 'launch',
    figure: 'launches as the caller sees them, sustained 1 s',
    unit: '/s',
    ours: 'launch.taken',
    limit: null,
    bar: least(4_000_000),
  },
  {
    id: 'launch',
    figure: 'the same, until the last is done',
    unit: '/s',
    ours: 'launch.completed',
    limit: null,
    bar: null,
  },
  {
    id: 'launch-softgpu',
    figure: 'the same, empty kernel on the software GPU',
    unit: '/s',
    ours: 'launch-softgpu.completed',
    limit: 'direct.launch-softgpu.completed',
    bar: least(500_000),
  },
  {
    id: 'objects',
    figure: 'event create + destroy',
    unit: 'µs',
    ours: 'objects.event',
    limit: 'raw.batchedMicroseconds',
    bar: most(0.5),
  },
  {
    id: 'objects',
    figure: 'stream create + destroy',
    unit: 'µs',
    ours: 'objects.stream',
    limit: 'raw.batchedMicroseconds',
    bar: most(0.5),
  },
  {
    id: 'objects',
    figure: 'function look-up',
    unit: 'µs',
    ours: 'objects.lookUp',
    limit: null,
    bar: most(0.5),
  },
  {
    id: 'objects',
    figure: 'attribute set',
    unit: 'µs',
    ours: 'objects.attribute',
    limit: 'raw.batchedMicroseconds',
    bar: most(0.5),
  },
  {
    id: 'allocate',
    figure: 'cuMemAlloc + cuMemFree of 1 MiB',
    unit: 'µs',
    ours: 'allocate.us',
    limit: 'raw.asleepMicroseconds',
    bar: most(1, 'limit'),
  },
  ...copyRows('copy64', '64 MiB pageable', 'raw.toGBps', 'raw.fromGBps', [0.9, 0.9]),
  ...copyRows('pinned64', '64 MiB pinned, asynchronous', 'raw.toGBps', 'raw.fromGBps', [0.9, 0.9]),
  ...copyRows('copy1', '1 MiB pageable', 'raw.to1GBps', 'raw.from1GBps', [0.85, 0.8]),
  {
    id: 'small',
    figure: '64-byte synchronous copy to the device',
    unit: 'µs',
    ours: 'small.us',
    limit: 'raw.batchedMicroseconds',
    bar: most(0.3),
  },
  {
    id: 'load',
    figure: 'load of an image that the worker knows',
    unit: 'µs',
    ours: 'load.us',
    limit: 'raw.asleepMicroseconds',
    bar: null,
  },
  {
    id: 'load',
    figure: 'the same, round trips',
    unit: 'round trips',
    ours: 'count.load.roundTrips',
    limit: null,
    bar: most(1),
  },
  {
    id: 'load',
    figure: 'the same, bytes sent (the image has 256 KiB)',
    unit: 'bytes',
    ours: 'count.load.bytesSent',
    limit: null,
    bar: most(256),
  },
  {
    id: 'lives',
    figure: 'process start to first completed launch',
    unit: 'ms',
    ours: 'lives.start',
    limit: 'direct.lives.start',
    bar: most(10),
  },
  {
    id: 'lives',
    figure: 'process exit after use',
    unit: 'ms',
    ours: 'lives.exit',
    limit: 'direct.lives.exit',
    bar: most(2),
  },
  {
    id: 'step',
    figure: 'training step',
    unit: 'µs',
    ours: 'step.us',
    limit: 'raw.stepMicroseconds',
    bar: most(200),
  },
  {
    id: 'step',
    figure: 'the same, round trips',
    unit: 'round trips',
    ours: 'count.step.roundTrips',
    limit: null,
    bar: most(1),
  },
  {
    id: 'launch4',
    figure: 'bytes sent per launch with 4 arguments',
    unit: 'bytes',
    ours: 'count.launch4.bytesSent',
    limit: null,
    bar: most(64),
  },
  {
    id: 'tls-sync',
    figure: 'TLS: synchronous call; the limit is TLS off',
    unit: 'µs',
    ours: 'tls-sync.us',
    limit: 'sync.us',
    bar: most(1.15, 'limit'),
  },
  {
    id: 'tls-copy64',
    figure: 'TLS: 64 MiB pageable, to the device',
    unit: 'GB/s',
    ours: 'tls-copy64.to',
    limit: 'copy64.to',
    bar: least(0.6, 'limit'),
  },
  {
    id: 'tls-copy64',
    figure: 'TLS: 64 MiB pageable, back',
    unit: 'GB/s',
    ours: 'tls-copy64.from',
    limit: 'copy64.from',
    bar: least(0.6, 'limit'),
  },
];
