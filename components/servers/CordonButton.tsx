'use client';

import { useMutation } from '@tanstack/react-query';
import { mayOperate } from '../data/roles';
import { useMe } from '../data/usePool';
import { useTRPC } from '../trpc/context';
import { describeError } from '../trpc/describeError';
import type { ServerRow } from '../trpc/types';
import { Button } from '../ui/Button';
import { Tooltip } from '../ui/Tooltip';

/** Takes a server out of placement or back in. What runs there goes on, so it needs no confirmation. */
export function CordonButton({ server }: Readonly<{ server: ServerRow }>) {
  const { data: me } = useMe();
  const cordon = useMutation(useTRPC().servers.cordon.mutationOptions());
  if (!mayOperate(me?.role)) return null;

  const cordoned = server.state === 'cordoned';
  const explanation = cordoned
    ? 'New allocations may use it again.'
    : 'No new allocations; what runs goes on.';
  return (
    <>
      {cordon.error && (
        <span role="alert" className="text-xs text-bad">
          {describeError(cordon.error).message}
        </span>
      )}
      <Tooltip content={explanation} side="bottom">
        <Button
          disabled={cordon.isPending}
          onClick={() => cordon.mutate({ id: server.id, cordoned: !cordoned })}
        >
          {cordoned ? 'Uncordon' : 'Cordon'}
        </Button>
      </Tooltip>
    </>
  );
}
