'use client';

import { PoolUtilizationChart } from '../charts/PoolUtilizationChart';
import { preparePoolUtilization } from '../charts/preparePoolUtilization';
import { useLiveGrid } from '../data/useLiveGrid';
import { useTelemetry } from '../data/usePool';
import { QueryView } from '../frame/QueryView';
import type { ServerRow } from '../trpc/types';
import { Panel } from '../ui/Panel';
import { LoadingRows } from '../ui/States';

/** How busy the pool was in the last minutes, by server. */
export function UtilizationPanel({ servers }: Readonly<{ servers: readonly ServerRow[] }>) {
  const telemetry = useTelemetry();
  const grid = useLiveGrid();
  const data = telemetry.data && grid ? preparePoolUtilization(servers, telemetry.data.series, grid) : null;
  const latest = data?.rows.findLast((row) => row.total !== null);
  const now = latest === undefined || latest.total === null ? 'no data' : `${latest.total.toFixed(0)} % now`;
  return (
    <Panel
      title="Utilization of the pool, last 5 minutes"
      aside={<span data-testid="pool-utilization">{now}</span>}
      className="min-h-66"
      bodyClassName="relative"
    >
      <QueryView query={telemetry} label="utilization">
        {() => (
          // Out of the flow, so that the chart takes the panel's height instead of giving it one.
          <div className="absolute inset-2">
            {data ? <PoolUtilizationChart data={data} /> : <LoadingRows label="Loading utilization" />}
          </div>
        )}
      </QueryView>
    </Panel>
  );
}
