'use client';

import { useMutation } from '@tanstack/react-query';
import { useMe } from '../data/usePool';
import { useApplyEvent } from '../live/useApplyEvent';
import { useTRPC } from '../trpc/context';
import { describeError } from '../trpc/describeError';
import type { AllocationRow } from '../trpc/types';
import { Button } from '../ui/Button';
import { Tooltip } from '../ui/Tooltip';
import { canBeEnded } from './isHolding';

/** Gives one's own allocation back. Offered only while no program uses it; otherwise end the program first. */
export function ReleaseButton({ allocation }: Readonly<{ allocation: AllocationRow }>) {
  const { data: me } = useMe();
  const applyEvent = useApplyEvent();
  const release = useMutation(
    useTRPC().allocations.release.mutationOptions({
      onSuccess: (row) => applyEvent({ kind: 'allocations', allocations: [row] }),
    }),
  );
  if (me?.userId !== allocation.userId || allocation.sessions > 0 || !canBeEnded(allocation)) return null;
  return (
    <>
      {release.error && (
        <span role="alert" className="text-xs text-bad">
          {describeError(release.error).message}
        </span>
      )}
      <Tooltip content="Give the GPUs back to the pool." side="bottom">
        <Button disabled={release.isPending} onClick={() => release.mutate({ id: allocation.id })}>
          Release
        </Button>
      </Tooltip>
    </>
  );
}
