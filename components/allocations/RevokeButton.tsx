'use client';

import { mayOperate } from '../data/roles';
import { useMe } from '../data/usePool';
import type { AllocationRow } from '../trpc/types';
import { Button } from '../ui/Button';
import { canBeEnded } from './isHolding';

type Props = { allocation: AllocationRow; size?: 'normal' | 'small'; onRevoke: () => void };

/** Offers to take an allocation away, to those who may. What it opens asks before it acts. */
export function RevokeButton({ allocation, size = 'normal', onRevoke }: Readonly<Props>) {
  const { data: me } = useMe();
  if (!mayOperate(me?.role) || !canBeEnded(allocation)) return null;
  return (
    <Button look="dangerPlain" size={size} onClick={onRevoke}>
      Revoke
    </Button>
  );
}
