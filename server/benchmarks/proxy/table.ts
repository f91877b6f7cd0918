import type { RunFigure } from './measureRun';
import type { Line } from './report';

/** Prints the lines for people. */
export function printTable(lines: readonly Line[], run: RunFigure, notes: readonly string[]): void {
  const head = ['figure', 'unit', 'limit', 'direct', 'ours', 'rounds', 'ratio', 'bar', ''];
  const cells = lines.map((line) => [
    line.figure,
    line.unit,
    number(line.limit),
    number(line.direct),
    number(line.ours),
    `${number(line.range[0])} … ${number(line.range[1])}`,
    line.ratio === null ? '–' : line.ratio.toFixed(2),
    line.bar ?? '–',
    line.met === null ? '' : line.met ? 'met' : 'MISSED',
  ]);
  const widths = head.map((title, column) =>
    Math.max(title.length, ...cells.map((row) => (row[column] ?? '').length)),
  );
  const text = (parts: readonly string[]) =>
    parts
      .map((part, column) =>
        column >= 2 && column <= 6 ? part.padStart(widths[column] ?? 0) : part.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd();
  console.log(text(head));
  cells.forEach((parts) => console.log(text(parts)));
  console.log(
    run.milliseconds === null
      ? `\n\`sluice run\` to the first launch: not measured, ${run.reason}`
      : `\n\`sluice run\` to the first launch: ${number(run.milliseconds)} ms (allocation and the pool's own TLS setting included)`,
  );
  notes.forEach((note) => console.log(note));
}

function number(value: number | null): string {
  if (value === null || Number.isNaN(value)) return '–';
  if (value >= 1000) return Math.round(value).toLocaleString('en-US');
  if (value !== 0 && value < 1) return value.toFixed(3);
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
}
