'use client';

import { mayAddServers } from '../data/roles';
import { useMe } from '../data/usePool';
import { EmptyState } from '../ui/States';
import { AddServerSteps } from './AddServerSteps';

/** The empty pool, and how it gets its first server. */
export function AddServer() {
  const { data: me } = useMe();
  return (
    <EmptyState title="The pool has no servers yet">
      {mayAddServers(me?.role) ? <AddServerSteps /> : 'An administrator can add one.'}
    </EmptyState>
  );
}
