'use client';

import { Sparkline } from '../charts/Sparkline';
import { meanPerStep } from '../charts/timeGrid';
import { useLiveGrid } from '../data/useLiveGrid';
import type { TelemetrySeries } from '../trpc/types';

type Props = { uuid: string; series: readonly TelemetrySeries[]; colour: string };

/** Utilization of one GPU over the last minutes. */
export function GpuSparkline({ uuid, series, colour }: Readonly<Props>) {
  const grid = useLiveGrid();
  const points = series.find((one) => one.uuid === uuid)?.points ?? [];
  const values = grid
    ? meanPerStep(
        points.map((point) => ({ t: point.t, value: point.utilizationPercent })),
        grid,
      )
    : [];
  const latest = values.findLast((value) => value !== null);
  const label =
    latest === undefined || latest === null
      ? 'Utilization: no data in the last 5 minutes'
      : `Utilization over the last 5 minutes, now ${Math.round(latest)} %`;
  return <Sparkline values={values} colour={colour} label={label} />;
}
