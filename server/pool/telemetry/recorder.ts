import type { GpuSample } from '../../../protocol/control/agentMessages';
import type { TelemetryPoint } from '../views';
import { addPoint, bucketStart, createBucket, type RollupBucket } from './rollup';

/** How long single samples are kept; older times are answered from the roll-ups. */
export const RECENT_SECONDS = 15 * 60;

/** Telemetry by GPU UUID and arrival time. */
export interface Recorder {
  record(sample: GpuSample, at: number): TelemetryPoint;
  /** Points from `since` on, oldest first. A pause longer than usual shows as a point of nulls. */
  points(uuid: string, since: number): TelemetryPoint[];
  uuids(): string[];
  /** Minutes that are over at `now` (all, when `now` is Infinity); each is handed out once. */
  takeFinished(now: number): { uuid: string; bucket: RollupBucket }[];
}

export function createRecorder(): Recorder {
  const recent = new Map<string, TelemetryPoint[]>();
  const buckets = new Map<string, RollupBucket>();
  const finished: { uuid: string; bucket: RollupBucket }[] = [];

  function rollUp(uuid: string, point: TelemetryPoint): void {
    const startsAt = bucketStart(point.t);
    let bucket = buckets.get(uuid);
    if (bucket && bucket.startsAt !== startsAt) {
      finished.push({ uuid, bucket });
      bucket = undefined;
    }
    bucket ??= createBucket(startsAt);
    addPoint(bucket, point);
    buckets.set(uuid, bucket);
  }

  return {
    record(sample, at) {
      const point: TelemetryPoint = {
        t: at,
        utilizationPercent: sample.utilizationPercent,
        memoryUsedMib: sample.memoryUsedMib,
        powerWatts: sample.powerWatts,
        temperatureCelsius: sample.temperatureCelsius,
      };
      const points = recent.get(sample.uuid) ?? [];
      points.push(point);
      while ((points[0]?.t ?? at) < at - RECENT_SECONDS * 1000) points.shift();
      recent.set(sample.uuid, points);
      rollUp(sample.uuid, point);
      return point;
    },
    points: (uuid, since) => withGaps((recent.get(uuid) ?? []).filter((point) => point.t >= since)),
    uuids: () => [...recent.keys()],
    takeFinished(now) {
      for (const [uuid, bucket] of buckets) {
        if (bucketStart(now) === bucket.startsAt) continue;
        finished.push({ uuid, bucket });
        buckets.delete(uuid);
      }
      return finished.splice(0);
    },
  };
}

/** Samples come once a second; two in a row may be late or lost without it being a gap. */
export const GAP_MS = 3_500;

function withGaps(points: TelemetryPoint[]): TelemetryPoint[] {
  return points.flatMap((point, i) => {
    const before = points[i - 1];
    if (!before || point.t - before.t <= GAP_MS) return [point];
    return [nothingAt(before.t + 1000), point];
  });
}

export function nothingAt(t: number): TelemetryPoint {
  return { t, utilizationPercent: null, memoryUsedMib: null, powerWatts: null, temperatureCelsius: null };
}
