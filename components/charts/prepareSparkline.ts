/**
 * SVG path of a line of percentages (0 at the bottom, 100 at the top) in a box of the given size. A null
 * lifts the pen; a point alone between two gaps becomes a dot-sized dash, so that it can be seen.
 */
export function prepareSparkline(values: readonly (number | null)[], width: number, height: number): string {
  if (values.length < 2) return '';
  const step = width / (values.length - 1);
  const parts: string[] = [];
  values.forEach((value, index) => {
    if (value === null) return;
    const x = round(index * step);
    const y = round(height - (Math.min(100, Math.max(0, value)) / 100) * height);
    const startsHere = index === 0 || values[index - 1] === null;
    const endsHere = index === values.length - 1 || values[index + 1] === null;
    parts.push(`${startsHere ? 'M' : 'L'}${x} ${y}`);
    if (startsHere && endsHere) parts.push('h1');
  });
  return parts.join('');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
