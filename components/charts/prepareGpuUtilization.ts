import type { TelemetrySeries } from '../trpc/types';
import { meanPerStep, type TimeGrid } from './timeGrid';

/** Utilization in percent by GPU UUID; null is a gap. */
export type GpuUtilizationRow = { t: number; values: Record<string, number | null> };

/** One row per step with every wanted GPU, those without samples included. */
export function prepareGpuUtilization(
  uuids: readonly string[],
  series: readonly TelemetrySeries[],
  grid: TimeGrid,
): GpuUtilizationRow[] {
  const pointsOf = new Map(series.map((one) => [one.uuid, one.points]));
  const lines = uuids.map((uuid) => ({
    uuid,
    values: meanPerStep(
      (pointsOf.get(uuid) ?? []).map((point) => ({ t: point.t, value: point.utilizationPercent })),
      grid,
    ),
  }));
  return Array.from({ length: grid.count }, (_, step) => ({
    t: grid.startMs + step * grid.stepMs,
    values: Object.fromEntries(lines.map((line) => [line.uuid, line.values[step] ?? null])),
  }));
}
