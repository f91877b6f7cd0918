'use client';

import { useMutation } from '@tanstack/react-query';
import { useTRPC } from '../trpc/context';
import { describeError } from '../trpc/describeError';
import { Button } from '../ui/Button';
import { CommandLine } from '../ui/CommandLine';
import { ErrorState } from '../ui/States';

/** How a server joins: the exact command, with a token that is made on demand and shown once. */
export function AddServerSteps() {
  const create = useMutation(useTRPC().tokens.create.mutationOptions());
  if (create.data) {
    return (
      <div className="flex flex-col gap-2 text-left text-sm">
        <p>Run this on the GPU server, in a copy of Sluice. The server appears here when it has connected.</p>
        <CommandLine
          command={`SLUICE_URL=${window.location.origin} SLUICE_TOKEN=${create.data.token} bin/sluice agent`}
        />
        <p className="text-muted">The token is shown only now.</p>
      </div>
    );
  }
  return (
    <div className="flex flex-col gap-3 text-sm">
      <p>A server joins by running the agent with a token. Make one to get the command.</p>
      <div>
        <Button
          look="primary"
          disabled={create.isPending}
          onClick={() => create.mutate({ name: `server added ${new Date().toISOString()}`, kind: 'agent' })}
        >
          Make a token for a server
        </Button>
      </div>
      {create.error && <ErrorState className="text-left text-ink" {...describeError(create.error)} />}
    </div>
  );
}
