// Telemetry: n/a stays n/a, a gap stays a gap, minutes are kept; and the ring of events.
import { describe, expect, test } from 'vitest';
import { createEventBus } from '@/server/pool/events/bus';
import { createRecorder } from '@/server/pool/telemetry/recorder';
import { toRow } from '@/server/pool/telemetry/rollup';
import type { PoolEvent } from '@/server/pool/views';

const START = Date.parse('2026-06-01T00:00:00Z');
const sample = (utilizationPercent: number | null, memoryUsedMib: number | null = 100) => ({
  uuid: 'GPU-1',
  memoryTotalMib: 8192,
  memoryUsedMib,
  memoryFreeMib: null,
  memoryReservedMib: null,
  utilizationPercent,
  powerWatts: null,
  temperatureCelsius: null,
  processes: [],
});

describe('recorded samples', () => {
  test('n/a is null, never 0', () => {
    const recorder = createRecorder();
    recorder.record(sample(null, null), START);
    expect(recorder.points('GPU-1', 0)).toEqual([
      { t: START, utilizationPercent: null, memoryUsedMib: null, powerWatts: null, temperatureCelsius: null },
    ]);
  });

  test('a pause is a gap, two late samples are not', () => {
    const recorder = createRecorder();
    for (const second of [0, 1, 4, 20]) recorder.record(sample(50), START + second * 1000);
    const points = recorder
      .points('GPU-1', 0)
      .map((point) => [(point.t - START) / 1000, point.utilizationPercent]);
    expect(points).toEqual([
      [0, 50],
      [1, 50],
      [4, 50],
      [5, null],
      [20, 50],
    ]);
  });

  test('only the last 15 minutes are kept', () => {
    const recorder = createRecorder();
    for (let second = 0; second <= 1000; second += 1) recorder.record(sample(1), START + second * 1000);
    expect(recorder.points('GPU-1', 0)).toHaveLength(901);
  });

  test('a minute has min, mean, max and count of what was told', () => {
    const recorder = createRecorder();
    for (const [second, value] of [
      [0, 10],
      [1, 30],
      [2, null],
      [3, 50],
    ] as const) {
      recorder.record(sample(value), START + second * 1000);
    }
    expect(recorder.takeFinished(START + 30_000)).toEqual([]);
    const [finished] = recorder.takeFinished(START + 60_000);
    expect(finished && toRow(finished.uuid, finished.bucket)).toMatchObject({
      gpuUuid: 'GPU-1',
      startsAt: new Date(START),
      utilizationMin: 10,
      utilizationMean: 30,
      utilizationMax: 50,
      utilizationCount: 3,
      memoryUsedCount: 4,
      powerMin: null,
      powerCount: 0,
    });
    expect(recorder.takeFinished(START + 90_000)).toEqual([]);
  });
});

describe('the event bus', () => {
  const event = (id: string): PoolEvent => ({ kind: 'telemetry', series: [{ uuid: id, point: toPoint() }] });
  const resync: PoolEvent = { kind: 'resync', servers: [], allocations: [], tasks: [] };
  const snapshot = () => Promise.resolve(resync);

  async function take(bus: ReturnType<typeof createEventBus>, lastEventId: string | null, count: number) {
    const abort = new AbortController();
    const got: { id: string; kind: string }[] = [];
    for await (const { id, event: next } of bus.listen(lastEventId, snapshot, abort.signal)) {
      got.push({ id, kind: next.kind });
      if (got.length === count) abort.abort();
    }
    return got;
  }

  test('starts with everything, then what comes', async () => {
    const bus = createEventBus('e');
    bus.publish(event('before'));
    const taking = take(bus, null, 2);
    await Promise.resolve();
    bus.publish(event('after'));
    expect(await taking).toEqual([
      { id: 'e.1', kind: 'resync' },
      { id: 'e.2', kind: 'telemetry' },
    ]);
    expect(bus.listenerCount).toBe(0);
  });

  test.each([
    ['the newest', 'e.9', ['e.10']],
    ['one within the ring', 'e.7', ['e.8', 'e.9', 'e.10']],
  ])('goes on after %s without a resync', async (_, last, ids) => {
    const bus = createEventBus('e', 4);
    for (let i = 0; i < 10; i += 1) bus.publish(event(String(i)));
    const got = await take(bus, last, ids.length);
    expect(got).toEqual(ids.map((id) => ({ id, kind: 'telemetry' })));
  });

  test.each([
    ['one that fell out of the ring', 'e.5'],
    ['one of another start', 'f.9'],
    ['one of the future', 'e.99'],
    ['nonsense', 'e.x'],
  ])('gives everything anew after %s', async (_, last) => {
    const bus = createEventBus('e', 4);
    for (let i = 0; i < 10; i += 1) bus.publish(event(String(i)));
    expect(await take(bus, last, 1)).toEqual([{ id: 'e.10', kind: 'resync' }]);
  });

  test('a slow listener that misses more than is kept gets everything anew', async () => {
    const bus = createEventBus('e', 4);
    const abort = new AbortController();
    const events = bus.listen(null, snapshot, abort.signal);
    await events.next();
    for (let i = 0; i < 10; i += 1) bus.publish(event(String(i)));
    const next = await events.next();
    expect(next.value).toMatchObject({ id: 'e.10', event: { kind: 'resync' } });
    abort.abort();
    await events.return(undefined);
  });

  test('ends when its listener goes', async () => {
    const bus = createEventBus('e');
    const abort = new AbortController();
    const events = bus.listen(null, snapshot, abort.signal);
    await events.next();
    const waiting = events.next();
    abort.abort();
    expect((await waiting).done).toBe(true);
  });

  function toPoint() {
    return { t: 0, utilizationPercent: 1, memoryUsedMib: 1, powerWatts: null, temperatureCelsius: null };
  }
});
