import { findRollups } from '../../db/rollups';
import type { PoolContext } from '../context';
import type { PoolTelemetry, TelemetryPoint, TelemetrySeries } from '../views';
import { nothingAt, RECENT_SECONDS } from './recorder';
import { ROLLUP_SECONDS } from './rollup';

/** Series of GPUs: minutes (means) as far as single samples do not reach back, then single samples. */
export async function recentTelemetry(
  ctx: PoolContext,
  query: { uuids?: string[]; seconds: number },
): Promise<TelemetrySeries[]> {
  const now = ctx.clock.now();
  const since = now - query.seconds * 1000;
  const uuids =
    query.uuids ?? [...ctx.live.servers.values()].flatMap((s) => s.record.gpus.map((gpu) => gpu.uuid));
  const recentFrom = Math.max(since, now - RECENT_SECONDS * 1000);
  const older =
    since < recentFrom
      ? await olderPoints(ctx, uuids, since, recentFrom)
      : new Map<string, TelemetryPoint[]>();
  return uuids.map((uuid) => ({
    uuid,
    points: [...(older.get(uuid) ?? []), ...ctx.recorder.points(uuid, recentFrom)],
  }));
}

async function olderPoints(
  ctx: PoolContext,
  uuids: string[],
  from: number,
  to: number,
): Promise<Map<string, TelemetryPoint[]>> {
  const rows = await findRollups(ctx.db.queries, {
    uuids,
    resolutionSeconds: ROLLUP_SECONDS,
    from: new Date(from),
    to: new Date(to),
  });
  const series = new Map<string, TelemetryPoint[]>();
  for (const row of rows) {
    const points = series.get(row.gpuUuid) ?? [];
    const t = row.startsAt.getTime();
    const last = points.at(-1);
    if (last && t - last.t > ROLLUP_SECONDS * 1000) points.push(nothingAt(last.t + ROLLUP_SECONDS * 1000));
    points.push({
      t,
      utilizationPercent: row.utilizationMean,
      memoryUsedMib: row.memoryUsedMean,
      powerWatts: row.powerMean,
      temperatureCelsius: row.temperatureMean,
    });
    series.set(row.gpuUuid, points);
  }
  return series;
}

/** The pool as one: each step's newest value of every GPU that told one, added up or averaged. */
export async function poolTelemetry(ctx: PoolContext, query: { seconds: number }): Promise<PoolTelemetry> {
  const series = await recentTelemetry(ctx, query);
  const totals = new Map(
    [...ctx.live.servers.values()].flatMap((s) =>
      s.record.gpus.map((gpu) => [gpu.uuid, gpu.memoryTotalMib] as const),
    ),
  );
  const stepMs = query.seconds <= RECENT_SECONDS ? 1000 : ROLLUP_SECONDS * 1000;
  const steps = new Map<number, Map<string, TelemetryPoint>>();
  for (const { uuid, points } of series) {
    for (const point of points) {
      const t = Math.floor(point.t / stepMs) * stepMs;
      const step = steps.get(t) ?? new Map<string, TelemetryPoint>();
      steps.set(t, step.set(uuid, point));
    }
  }
  return {
    points: [...steps].sort(([a], [b]) => a - b).map(([t, step]) => poolPoint(t, step, totals)),
  };
}

function poolPoint(
  t: number,
  step: Map<string, TelemetryPoint>,
  totals: Map<string, number>,
): PoolTelemetry['points'][number] {
  const told = [...step].filter(
    ([, point]) => point.utilizationPercent !== null || point.memoryUsedMib !== null,
  );
  const utilization = told.flatMap(([, point]) => point.utilizationPercent ?? []);
  const used = told.flatMap(([, point]) => point.memoryUsedMib ?? []);
  const total = told.flatMap(([uuid, point]) =>
    point.memoryUsedMib === null ? [] : (totals.get(uuid) ?? []),
  );
  return {
    t,
    utilizationPercent: utilization.length === 0 ? null : sum(utilization) / utilization.length,
    memoryUsedMib: used.length === 0 ? null : sum(used),
    memoryTotalMib: total.length === 0 ? null : sum(total),
    gpuCount: told.length,
  };
}

function sum(values: number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
