'use client';

import { ArrowDown, ArrowUp } from 'lucide-react';
import type { ReactNode } from 'react';
import { useUrlState } from '../data/useUrlState';
import { cn } from './cn';
import { sortRows, type SortValue } from './sortRows';

const shownFrom = { laptop: 'hidden lg:table-cell', desktop: 'hidden 2xl:table-cell' } as const;

export type Column<Row> = {
  id: string;
  header: string;
  cell: (row: Row) => ReactNode;
  /** Makes the column sortable; null sorts last both ways. */
  sortValue?: (row: Row) => SortValue;
  align?: 'left' | 'right';
  /** The screen from which on it is shown; what one can do without gives way on smaller ones. */
  from?: keyof typeof shownFrom;
  className?: string;
};

type Props<Row> = {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  rowKey: (row: Row) => string;
  /** Keeps this table's order in the address; two tables on a page need two names. */
  sortKey?: string;
  empty: ReactNode;
};

/** Rows with sortable columns. The order is in the address ("?sort=-memory"). */
export function DataTable<Row>({
  label,
  rows,
  columns,
  rowKey,
  sortKey = 'sort',
  empty,
}: Readonly<Props<Row>>) {
  const [sort, setSort] = useUrlState(sortKey, '');
  if (rows.length === 0) return empty;

  const descending = sort.startsWith('-');
  const sortedBy = descending ? sort.slice(1) : sort;
  const sortValue = columns.find((column) => column.id === sortedBy)?.sortValue;
  const ordered = sortValue ? sortRows(rows, sortValue, rowKey, descending) : rows;

  return (
    <div className="overflow-x-auto">
      <table className="w-full border-collapse text-sm" aria-label={label}>
        <thead>
          <tr className="border-b border-line">
            {columns.map((column) => (
              <HeaderCell
                key={column.id}
                column={column}
                order={column.id !== sortedBy ? null : descending ? 'descending' : 'ascending'}
                onSort={setSort}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {ordered.map((row) => (
            <tr key={rowKey(row)} className="h-9 border-b border-line last:border-0 hover:bg-hover">
              {columns.map((column) => (
                <td
                  key={column.id}
                  className={cn('py-1 whitespace-nowrap', cellStyle(column), column.className)}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function cellStyle<Row>(column: Column<Row>): string {
  return cn(
    'px-2 first:pl-3.5 last:pr-3.5',
    column.align === 'right' ? 'text-right' : 'text-left',
    column.from && shownFrom[column.from],
  );
}

type HeaderProps<Row> = {
  column: Column<Row>;
  order: 'ascending' | 'descending' | null;
  onSort: (sort: string) => void;
};

function HeaderCell<Row>({ column, order, onSort }: Readonly<HeaderProps<Row>>) {
  const style = cn('h-8 text-xs font-medium whitespace-nowrap text-muted', cellStyle(column));
  if (!column.sortValue) {
    return (
      <th scope="col" className={style}>
        {column.header}
      </th>
    );
  }
  const next = order === 'ascending' ? `-${column.id}` : order === 'descending' ? '' : column.id;
  return (
    <th scope="col" aria-sort={order ?? 'none'} className={style}>
      <button
        type="button"
        className="inline-flex items-center gap-1 hover:text-ink"
        onClick={() => onSort(next)}
      >
        {column.header}
        {order === 'ascending' && <ArrowUp aria-hidden className="size-3" />}
        {order === 'descending' && <ArrowDown aria-hidden className="size-3" />}
      </button>
    </th>
  );
}
