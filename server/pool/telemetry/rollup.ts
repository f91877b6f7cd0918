import type { Prisma } from '../../db/client/client';
import type { TelemetryPoint } from '../views';

export const ROLLUP_SECONDS = 60;

/** Values of one GPU within one minute. */
export interface RollupBucket {
  startsAt: number;
  sums: Record<Metric, Sum>;
}

type Metric = 'utilization' | 'memoryUsed' | 'power' | 'temperature';

interface Sum {
  min: number;
  max: number;
  sum: number;
  count: number;
}

export function bucketStart(t: number): number {
  return Math.floor(t / (ROLLUP_SECONDS * 1000)) * ROLLUP_SECONDS * 1000;
}

export function createBucket(startsAt: number): RollupBucket {
  return { startsAt, sums: { utilization: zero(), memoryUsed: zero(), power: zero(), temperature: zero() } };
}

/** Adds a point; values that the device does not tell count for nothing. */
export function addPoint(bucket: RollupBucket, point: TelemetryPoint): void {
  add(bucket.sums.utilization, point.utilizationPercent);
  add(bucket.sums.memoryUsed, point.memoryUsedMib);
  add(bucket.sums.power, point.powerWatts);
  add(bucket.sums.temperature, point.temperatureCelsius);
}

export function toRow(gpuUuid: string, bucket: RollupBucket): Prisma.TelemetryRollupCreateManyInput {
  const { utilization, memoryUsed, power, temperature } = bucket.sums;
  return {
    gpuUuid,
    resolutionSeconds: ROLLUP_SECONDS,
    startsAt: new Date(bucket.startsAt),
    utilizationMin: least(utilization),
    utilizationMean: mean(utilization),
    utilizationMax: most(utilization),
    utilizationCount: utilization.count,
    memoryUsedMin: least(memoryUsed),
    memoryUsedMean: mean(memoryUsed),
    memoryUsedMax: most(memoryUsed),
    memoryUsedCount: memoryUsed.count,
    powerMin: least(power),
    powerMean: mean(power),
    powerMax: most(power),
    powerCount: power.count,
    temperatureMin: least(temperature),
    temperatureMean: mean(temperature),
    temperatureMax: most(temperature),
    temperatureCount: temperature.count,
  };
}

function zero(): Sum {
  return { min: Infinity, max: -Infinity, sum: 0, count: 0 };
}

function add(sum: Sum, value: number | null): void {
  if (value === null) return;
  sum.min = Math.min(sum.min, value);
  sum.max = Math.max(sum.max, value);
  sum.sum += value;
  sum.count += 1;
}

const least = (sum: Sum): number | null => (sum.count === 0 ? null : sum.min);
const most = (sum: Sum): number | null => (sum.count === 0 ? null : sum.max);
const mean = (sum: Sum): number | null => (sum.count === 0 ? null : sum.sum / sum.count);
