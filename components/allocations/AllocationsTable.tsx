'use client';

import Link from 'next/link';
import { useState, type ReactNode } from 'react';
import { formatMemory } from '../format/formatMemory';
import { Left, Since } from '../format/Since';
import type { AllocationRow } from '../trpc/types';
import { DataTable, type Column } from '../ui/DataTable';
import { AllocationStatus } from './AllocationStatus';
import { GpuPlaces } from './GpuPlaces';
import { isHolding } from './isHolding';
import { RevokeButton } from './RevokeButton';
import { RevokeDialog } from './RevokeDialog';

type Props = { rows: readonly AllocationRow[]; sortKey?: string; empty: ReactNode };

/** Who holds what, and is it used? */
export function AllocationsTable({ rows, sortKey, empty }: Readonly<Props>) {
  // Kept apart from the rows: a revoked one leaves the table while its dialog still shows what became of it.
  const [revoking, setRevoking] = useState<AllocationRow | null>(null);
  return (
    <>
      <DataTable
        label="Allocations"
        rows={rows}
        columns={[...columns, actions(setRevoking)]}
        rowKey={(row) => row.id}
        sortKey={sortKey}
        empty={empty}
      />
      {revoking && <RevokeDialog asOffered={revoking} onClose={() => setRevoking(null)} />}
    </>
  );
}

/** What each GPU of an allocation lends: "whole GPU", "2.0 GiB". All GPUs of one request lend the same. */
export function describeShare(allocation: AllocationRow): string {
  const first = allocation.gpus[0];
  if (!first) return 'nothing';
  return first.memoryMib === null ? 'whole GPU' : formatMemory(first.memoryMib);
}

const columns: Column<AllocationRow>[] = [
  {
    id: 'id',
    header: 'Allocation',
    cell: (row) => (
      <Link href={`/allocations/${row.id}`} className="font-mono text-xs hover:text-accent hover:underline">
        {row.id}
      </Link>
    ),
  },
  {
    id: 'state',
    header: 'State',
    sortValue: (row) => row.state,
    cell: (row) => <AllocationStatus allocation={row} />,
  },
  { id: 'user', header: 'Who', sortValue: (row) => row.userEmail, cell: (row) => row.userEmail },
  {
    id: 'purpose',
    header: 'Purpose',
    className: 'max-w-32 truncate 2xl:max-w-56',
    from: 'laptop',
    cell: (row) => row.purpose ?? <span className="text-faint">none given</span>,
  },
  { id: 'gpus', header: 'GPUs', cell: (row) => <GpuPlaces gpus={row.gpus} /> },
  { id: 'memory', header: 'Memory each', align: 'right', cell: (row) => describeShare(row) },
  {
    id: 'programs',
    header: 'Programs',
    align: 'right',
    sortValue: (row) => row.sessions,
    cell: (row) =>
      row.sessions === 0 && isHolding(row) ? <span className="text-warn">▲ none</span> : row.sessions,
  },
  {
    id: 'since',
    header: 'Held for',
    align: 'right',
    sortValue: (row) => -row.createdAt,
    cell: (row) => <Since from={row.createdAt} to={row.endedAt} />,
  },
  {
    id: 'lease',
    header: 'Lease left',
    align: 'right',
    from: 'laptop',
    sortValue: (row) => row.leaseExpiresAt,
    cell: (row) =>
      isHolding(row) ? <Left at={row.leaseExpiresAt} /> : <span className="text-faint">over</span>,
  },
];

function actions(onRevoke: (row: AllocationRow) => void): Column<AllocationRow> {
  return {
    id: 'actions',
    header: '',
    align: 'right',
    cell: (row) => <RevokeButton allocation={row} size="small" onRevoke={() => onRevoke(row)} />,
  };
}
