'use client';

import { Area, AreaChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';
import { ChartTooltip, gridProps, percentAxisProps, timeAxisProps } from './axes';
import { assignColours } from './colours';
import type { PoolUtilization, PoolUtilizationRow } from './preparePoolUtilization';

/** The pool's utilization as areas by server, stacked to the mean of all GPUs. */
export function PoolUtilizationChart({ data }: Readonly<{ data: PoolUtilization }>) {
  const first = data.rows[0];
  const last = data.rows.at(-1);
  if (!first || !last) return null;
  const colours = assignColours(data.bands.map((band) => band.id));
  return (
    <ResponsiveContainer width="100%" height="100%">
      <AreaChart data={data.rows} margin={{ top: 8, right: 12, bottom: 0, left: 0 }}>
        <CartesianGrid {...gridProps} />
        <XAxis {...timeAxisProps(first.t, last.t)} />
        <YAxis {...percentAxisProps} />
        <Tooltip
          isAnimationActive={false}
          cursor={{ stroke: 'var(--line-strong)' }}
          content={({ payload }) => {
            const row = payload?.[0]?.payload as PoolUtilizationRow | undefined;
            if (!row) return null;
            const lines = data.bands.map((band) => ({
              label: band.label,
              colour: colours.get(band.id) ?? '',
              value: row.bands[band.id] ?? null,
            }));
            const note =
              row.total === null
                ? undefined
                : `pool ${row.total.toFixed(0)} %, ${row.reporting} GPUs reported`;
            return <ChartTooltip at={row.t} lines={lines} note={note} />;
          }}
        />
        {data.bands.map((band) => (
          <Area
            key={band.id}
            dataKey={(row: PoolUtilizationRow) => row.bands[band.id]}
            name={band.label}
            stackId="pool"
            type="linear"
            connectNulls={false}
            isAnimationActive={false}
            dot={false}
            activeDot={false}
            stroke="none"
            fill={colours.get(band.id)}
            fillOpacity={0.6}
          />
        ))}
      </AreaChart>
    </ResponsiveContainer>
  );
}
