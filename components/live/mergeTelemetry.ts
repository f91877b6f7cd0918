import type { LiveEvent, ServerRow, TelemetrySeries } from '../trpc/types';

export type LiveSamples = Extract<LiveEvent, { kind: 'telemetry' }>['series'];

/**
 * Appends the newest sample of each GPU to its series and drops what is older than `keepMs` before it. A
 * sample that is not newer than the last one is ignored: a resumed stream may repeat some.
 */
export function appendSamples(
  series: readonly TelemetrySeries[],
  samples: LiveSamples,
  keepMs: number,
): TelemetrySeries[] {
  const pointOf = new Map(samples.map((sample) => [sample.uuid, sample.point]));
  const appended = series.map((one) => {
    const point = pointOf.get(one.uuid);
    pointOf.delete(one.uuid);
    const last = one.points.at(-1);
    if (!point || (last && point.t <= last.t)) return one;
    const oldest = point.t - keepMs;
    const firstKept = one.points.findIndex((candidate) => candidate.t >= oldest);
    return { ...one, points: [...(firstKept < 0 ? [] : one.points.slice(firstKept)), point] };
  });
  const discovered = [...pointOf].map(([uuid, point]) => ({ uuid, points: [point] }));
  return [...appended, ...discovered];
}

/** Brings the current values in the servers' rows up to the newest samples. */
export function updateGpuReadings(servers: readonly ServerRow[], samples: LiveSamples): ServerRow[] {
  const pointOf = new Map(samples.map((sample) => [sample.uuid, sample.point]));
  return servers.map((server) => {
    if (!server.gpus.some((gpu) => pointOf.has(gpu.uuid))) return server;
    const gpus = server.gpus.map((gpu) => {
      const point = pointOf.get(gpu.uuid);
      if (!point) return gpu;
      return {
        ...gpu,
        utilizationPercent: point.utilizationPercent,
        memoryUsedMib: point.memoryUsedMib,
        powerWatts: point.powerWatts,
        temperatureCelsius: point.temperatureCelsius,
      };
    });
    return { ...server, gpus };
  });
}
