'use client';

import { assignColours } from '../charts/colours';
import { GpuUtilizationChart } from '../charts/GpuUtilizationChart';
import { prepareGpuUtilization } from '../charts/prepareGpuUtilization';
import { useLiveGrid } from '../data/useLiveGrid';
import type { GpuRow, TelemetrySeries } from '../trpc/types';
import { LoadingRows } from '../ui/States';

type Props = { gpus: readonly GpuRow[]; series: readonly TelemetrySeries[] };

/** All GPUs of one server in one chart; a GPU has the colour it has in its card. */
export function ServerUtilization({ gpus, series }: Readonly<Props>) {
  const grid = useLiveGrid();
  if (!grid) return <LoadingRows label="Loading utilization" />;
  const uuids = gpus.map((gpu) => gpu.uuid);
  const colours = assignColours(uuids);
  return (
    <GpuUtilizationChart
      rows={prepareGpuUtilization(uuids, series, grid)}
      lines={gpus.map((gpu) => ({
        uuid: gpu.uuid,
        label: `GPU ${gpu.index}`,
        colour: colours.get(gpu.uuid) ?? '',
      }))}
    />
  );
}
