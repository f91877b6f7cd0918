import { formatClock } from '../format/formatTime';

// What all time charts share. Functions that return props: Recharts looks at its children's own types.

const tick = { fill: 'var(--faint)', fontSize: 11 };

/** Tick every minute at whole minutes, in the viewer's zone. */
export function timeAxisProps(startMs: number, endMs: number) {
  const minute = 60_000;
  const ticks: number[] = [];
  for (let at = Math.ceil(startMs / minute) * minute; at <= endMs; at += minute) ticks.push(at);
  return {
    dataKey: 't',
    type: 'number' as const,
    scale: 'time' as const,
    domain: [startMs, endMs] as [number, number],
    ticks,
    tickFormatter: (at: number) => formatClock(at).slice(0, 5),
    tick,
    tickLine: false,
    axisLine: { stroke: 'var(--line)' },
    minTickGap: 24,
  };
}

export const percentAxisProps = {
  domain: [0, 100] as [number, number],
  ticks: [0, 50, 100],
  unit: ' %',
  width: 46,
  tick,
  tickLine: false,
  axisLine: false,
};

export const gridProps = { stroke: 'var(--line)', strokeDasharray: '2 3', vertical: false };

type Line = { label: string; colour: string; value: number | null };

/** What a chart's cursor points at: the time and one line per series; a gap says "no data". */
export function ChartTooltip({ at, lines, note }: Readonly<{ at: number; lines: Line[]; note?: string }>) {
  return (
    <div className="rounded-md border border-line bg-surface px-2.5 py-1.5 text-xs shadow-pop">
      <p className="mb-1 text-muted">{formatClock(at)}</p>
      {lines.map((line) => (
        <p key={line.label} className="flex items-center gap-2">
          <span aria-hidden className="size-2 rounded-[2px]" style={{ background: line.colour }} />
          <span className="flex-1">{line.label}</span>
          <span className="pl-3">{line.value === null ? 'no data' : `${line.value.toFixed(0)} %`}</span>
        </p>
      ))}
      {note && <p className="mt-1 text-faint">{note}</p>}
    </div>
  );
}
