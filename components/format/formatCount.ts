const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** A count with thousands separated: 1234567 → "1,234,567". */
export function formatCount(value: number): string {
  return whole.format(value);
}

/** A count with its noun: (1, 'task') → "1 task", (2, 'task') → "2 tasks". */
export function countOf(value: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(value)} ${value === 1 ? noun : plural}`;
}

/** A UUID's distinguishing beginning: "GPU-3f2c81aa-…" → "GPU-3f2c81aa". */
export function shortUuid(uuid: string): string {
  const [prefix, first] = uuid.split('-');
  return first ? `${prefix}-${first}` : uuid.slice(0, 12);
}
