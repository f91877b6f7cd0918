import type { ServerRow, TelemetrySeries } from '../trpc/types';
import { meanPerStep, type TimeGrid } from './timeGrid';

// More bands than this cannot be told apart; the smallest are drawn as one.
const MAX_BANDS = 6;
const OTHERS = 'others';

export type PoolUtilizationRow = {
  t: number;
  /** Each server's part of the pool's utilization in percentage points; null where none of its GPUs reported. */
  bands: Record<string, number | null>;
  /** Mean over the GPUs that reported, in percent; null when none did. */
  total: number | null;
  /** How many GPUs reported. */
  reporting: number;
};

export type PoolUtilization = {
  rows: PoolUtilizationRow[];
  bands: { id: string; label: string }[];
  /** Servers that were put together in the last band. */
  hiddenServers: number;
};

/**
 * Utilization of the pool by server, stacked: the bands of a row add up to the mean utilization of all GPUs
 * that reported in that step.
 */
export function preparePoolUtilization(
  servers: readonly ServerRow[],
  series: readonly TelemetrySeries[],
  grid: TimeGrid,
): PoolUtilization {
  const pointsOf = new Map(series.map((one) => [one.uuid, one.points]));
  const perServer = servers.map((server) => ({
    server,
    gpus: server.gpus.map((gpu) =>
      meanPerStep(
        (pointsOf.get(gpu.uuid) ?? []).map((point) => ({ t: point.t, value: point.utilizationPercent })),
        grid,
      ),
    ),
  }));
  const visible = perServer.length <= MAX_BANDS ? perServer : perServer.slice(0, MAX_BANDS - 1);
  const hidden = perServer.slice(visible.length);
  const bands = visible.map(({ server, gpus }) => ({ id: server.id, label: server.hostname, gpus }));
  if (hidden.length > 0) {
    bands.push({ id: OTHERS, label: `${hidden.length} others`, gpus: hidden.flatMap((entry) => entry.gpus) });
  }

  const rows = Array.from({ length: grid.count }, (_, step) => {
    const known = bands.map((band) =>
      band.gpus.map((gpu) => gpu[step] ?? null).filter((value) => value !== null),
    );
    const reporting = known.reduce((sum, values) => sum + values.length, 0);
    const shares = known.map((values) =>
      values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / reporting,
    );
    return {
      t: grid.startMs + step * grid.stepMs,
      bands: Object.fromEntries(bands.map((band, index) => [band.id, shares[index] ?? null])),
      total: reporting === 0 ? null : shares.reduce<number>((sum, share) => sum + (share ?? 0), 0),
      reporting,
    };
  });
  return { rows, bands: bands.map(({ id, label }) => ({ id, label })), hiddenServers: hidden.length };
}
