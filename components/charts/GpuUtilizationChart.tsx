'use client';

import { CartesianGrid, Line, LineChart, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';
import { ChartTooltip, gridProps, percentAxisProps, timeAxisProps } from './axes';
import type { GpuUtilizationRow } from './prepareGpuUtilization';

export type ChartLine = { uuid: string; label: string; colour: string };

type Props = { rows: readonly GpuUtilizationRow[]; lines: readonly ChartLine[] };

/** Utilization of single GPUs as lines; a step without samples breaks the line. */
export function GpuUtilizationChart({ rows, lines }: Readonly<Props>) {
  const first = rows[0];
  const last = rows.at(-1);
  if (!first || !last) return null;
  return (
    <ResponsiveContainer width="100%" height="100%">
      <LineChart data={[...rows]} margin={{ top: 8, right: 12, bottom: 0, left: 0 }}>
        <CartesianGrid {...gridProps} />
        <XAxis {...timeAxisProps(first.t, last.t)} />
        <YAxis {...percentAxisProps} />
        <Tooltip
          isAnimationActive={false}
          cursor={{ stroke: 'var(--line-strong)' }}
          content={({ payload }) => {
            const row = payload?.[0]?.payload as GpuUtilizationRow | undefined;
            if (!row) return null;
            return (
              <ChartTooltip
                at={row.t}
                lines={lines.map((line) => ({ ...line, value: row.values[line.uuid] ?? null }))}
              />
            );
          }}
        />
        {lines.map((line) => (
          <Line
            key={line.uuid}
            dataKey={(row: GpuUtilizationRow) => row.values[line.uuid]}
            name={line.label}
            type="linear"
            connectNulls={false}
            isAnimationActive={false}
            dot={false}
            activeDot={false}
            stroke={line.colour}
            strokeWidth={1.5}
          />
        ))}
      </LineChart>
    </ResponsiveContainer>
  );
}
