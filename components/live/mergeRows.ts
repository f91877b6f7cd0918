/**
 * Puts changed rows in the place of those with the same key; unknown ones go to the front (lists are newest
 * first) or to the end. The order of what was there never changes, so no row jumps under the cursor.
 */
export function mergeRows<Row>(
  rows: readonly Row[],
  changed: readonly Row[],
  keyOf: (row: Row) => string,
  newRows: 'front' | 'end',
): Row[] {
  const byKey = new Map(changed.map((row) => [keyOf(row), row]));
  const merged = rows.map((row) => {
    const key = keyOf(row);
    const next = byKey.get(key);
    byKey.delete(key);
    return next ?? row;
  });
  const added = [...byKey.values()];
  return newRows === 'front' ? [...added, ...merged] : [...merged, ...added];
}

/** Without the rows that have one of these keys. */
export function dropRows<Row>(
  rows: readonly Row[],
  gone: readonly Row[],
  keyOf: (row: Row) => string,
): Row[] {
  const keys = new Set(gone.map(keyOf));
  return rows.filter((row) => !keys.has(keyOf(row)));
}
