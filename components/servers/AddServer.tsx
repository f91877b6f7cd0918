'use client';

import { useMutation } from '@tanstack/react-query';
import { mayAddServers } from '../data/roles';
import { useMe } from '../data/usePool';
import { useTRPC } from '../trpc/context';
import { describeError } from '../trpc/describeError';
import { Button } from '../ui/Button';
import { CommandLine } from '../ui/CommandLine';
import { EmptyState, ErrorState } from '../ui/States';

/** The empty pool: how to add a server, as the exact command with a fresh token. */
export function AddServer() {
  const { data: me } = useMe();
  const trpc = useTRPC();
  const create = useMutation(trpc.tokens.create.mutationOptions());
  const origin = typeof window === 'undefined' ? '' : window.location.origin;

  if (!mayAddServers(me?.role)) {
    return <EmptyState title="The pool has no servers yet">An administrator can add one.</EmptyState>;
  }
  return (
    <EmptyState title="The pool has no servers yet">
      {create.data ? (
        <>
          <p>
            Run this on the GPU server, in a copy of Sluice. The server appears here when it has connected.
          </p>
          <div className="text-left text-ink">
            <CommandLine
              command={`SLUICE_URL=${origin} SLUICE_TOKEN=${create.data.token} bin/sluice agent`}
            />
          </div>
          <p>The token is shown only now.</p>
        </>
      ) : (
        <>
          <p>A server joins by running the agent with a token. Make one to get the command.</p>
          <div>
            <Button
              look="primary"
              disabled={create.isPending}
              onClick={() =>
                create.mutate({ name: `server added ${new Date().toISOString()}`, kind: 'agent' })
              }
            >
              Make a token for a server
            </Button>
          </div>
          {create.error && <ErrorState className="text-left text-ink" {...describeError(create.error)} />}
        </>
      )}
    </EmptyState>
  );
}
