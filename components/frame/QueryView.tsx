'use client';

import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { describeError } from '../trpc/describeError';
import { ErrorState, LoadingRows } from '../ui/States';

type Props<Data> = {
  query: UseQueryResult<Data, unknown>;
  /** What is being loaded, for screen readers. */
  label: string;
  children: (data: Data) => ReactNode;
};

/** The three states of a query: rows to come, a sentence with a way out, the data. Old data beats an error. */
export function QueryView<Data>({ query, label, children }: Readonly<Props<Data>>) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) {
    const { code, message, hint } = describeError(query.error);
    return (
      <ErrorState
        className="m-3.5"
        message={message}
        hint={hint}
        detail={code}
        onRetry={() => void query.refetch()}
      />
    );
  }
  return <LoadingRows label={`Loading ${label}`} />;
}
