// What commands print: text for people on stdout, or one JSON document with --json.

/** Prints `value` as JSON, indented. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A note that must not mix with what the command prints. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Rows under headings, columns padded to their widest cell; null is shown as n/a. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
): string {
  const cells = rows.map((row) => row.map((cell) => (cell === null ? 'n/a' : String(cell))));
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...cells.map((row) => (row[column] ?? '').length)),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [headings, ...cells].map(line).join('\n');
}

/** "3 min", "2 h 5 min", "4 d 1 h": rough, for people. */
export function duration(milliseconds: number): string {
  const minutes = Math.floor(Math.max(0, milliseconds) / 60_000);
  if (minutes < 1) return `${Math.round(Math.max(0, milliseconds) / 1000)} s`;
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
