// From the values of all rounds to one line per row: medians, how far they lie apart, the bar.
import { median } from './measure';
import type { Row } from './rows';

/** Every value that was measured, by the names that rows use; one per round. */
export type Values = ReadonlyMap<string, readonly number[]>;

export interface Line {
  readonly id: string;
  readonly figure: string;
  readonly unit: Row['unit'];
  /** null: nothing to compare with. */
  readonly limit: number | null;
  readonly direct: number | null;
  readonly ours: number;
  /** Least and greatest of the rounds. */
  readonly range: readonly [number, number];
  /** ours ÷ limit. */
  readonly ratio: number | null;
  readonly bar: string | null;
  readonly met: boolean | null;
}

/** null when the row's run was not made. */
export function lineOf(row: Row, values: Values): Line | null {
  const measured = values.get(row.ours);
  if (measured === undefined) return null;
  const ours = median(measured);
  const middle = (name: string | null) => {
    const found = name === null ? undefined : values.get(name);
    return found === undefined ? null : median(found);
  };
  const limit = middle(row.limit);
  const ratio = limit === null ? null : ours / limit;
  const judged = row.bar?.of === 'limit' ? ratio : ours;
  return {
    id: row.id,
    figure: row.figure,
    unit: row.unit,
    limit,
    direct: middle(`direct.${row.ours}`),
    ours,
    range: [Math.min(...measured), Math.max(...measured)],
    ratio,
    bar: barText(row),
    met:
      row.bar === null || judged === null
        ? null
        : judged >= (row.bar.least ?? -Infinity) && judged <= (row.bar.most ?? Infinity),
  };
}

function barText({ bar }: Row): string | null {
  if (bar === null) return null;
  const sign = bar.least === undefined ? '≤' : '≥';
  const number = (bar.least ?? bar.most ?? 0).toLocaleString('en-US');
  return `${sign} ${number}${bar.of === 'limit' ? ' × limit' : ''}`;
}
