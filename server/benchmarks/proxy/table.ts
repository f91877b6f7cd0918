import type { RunFigure } from './measureRun';
import type { Row } from './report';

/** Prints the rows for people. */
export function printTable(
  { rows, runToFirstResult }: { rows: readonly Row[]; runToFirstResult: RunFigure },
  tls: boolean,
  rounds: number,
): void {
  const head = ['figure', 'unit', 'raw TCP', 'direct', 'proxy', 'proxy ÷ raw', 'goal', ''];
  const cells = rows.map((row) => [
    row.figure,
    row.unit,
    number(row.rawTcp),
    number(row.direct),
    number(row.proxy),
    row.ratio === null ? '–' : `${row.ratio.toFixed(2)} ×`,
    row.goal ?? '–',
    row.met === null ? '' : row.met ? 'met' : 'missed',
  ]);
  const widths = head.map((title, column) =>
    Math.max(title.length, ...cells.map((line) => (line[column] ?? '').length)),
  );
  const line = (parts: readonly string[]) =>
    parts
      .map((part, column) =>
        column >= 2 && column <= 5 ? part.padStart(widths[column] ?? 0) : part.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd();
  console.log(line(head));
  cells.forEach((parts) => console.log(line(parts)));
  console.log(
    runToFirstResult.milliseconds === null
      ? `\n\`sluice run\` to the first result: not measured, ${runToFirstResult.reason}`
      : `\n\`sluice run\` to the first result: ${number(runToFirstResult.milliseconds)} ms (allocation and the pool's own TLS setting included)`,
  );
  console.log(
    `Loopback, software GPU, TLS ${tls ? 'on (the goals are for TLS off)' : 'off'}, random data, medians of ${rounds} rounds; ` +
      'client and worker are bound to one core each where there are two.',
  );
}

function number(value: number | null): string {
  if (value === null) return '–';
  if (value >= 1000) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
}
