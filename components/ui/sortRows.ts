export type SortValue = string | number | null;

/**
 * Sorted copy; equal values fall back to the key, so that rows never swap without a reason, and null
 * (not available) comes last in both directions. Text compares with numbers inside it as numbers.
 */
export function sortRows<Row>(
  rows: readonly Row[],
  valueOf: (row: Row) => SortValue,
  keyOf: (row: Row) => string,
  descending: boolean,
): Row[] {
  const sign = descending ? -1 : 1;
  return rows
    .map((row) => ({ row, value: valueOf(row), key: keyOf(row) }))
    .sort((a, b) => {
      if (a.value === null || b.value === null) {
        if (a.value !== b.value) return a.value === null ? 1 : -1;
        return a.key < b.key ? -1 : 1;
      }
      const order = compare(a.value, b.value);
      if (order !== 0) return sign * order;
      return a.key < b.key ? -1 : 1;
    })
    .map((entry) => entry.row);
}

function compare(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b), 'en', { numeric: true });
}
