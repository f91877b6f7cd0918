'use client';

import { useState } from 'react';
import { mayOperate } from '../data/roles';
import { useMe } from '../data/usePool';
import type { AllocationRow } from '../trpc/types';
import { Button } from '../ui/Button';
import { canBeEnded } from './isHolding';
import { RevokeDialog } from './RevokeDialog';

type Props = { allocation: AllocationRow; size?: 'normal' | 'small' };

/** Takes an allocation away from whoever holds it, after a dialog that says what that ends. */
export function RevokeButton({ allocation, size = 'normal' }: Readonly<Props>) {
  const { data: me } = useMe();
  const [open, setOpen] = useState(false);
  if (!mayOperate(me?.role)) return null;
  // The dialog outlives the button: it stays open until the GPUs are proved free.
  return (
    <>
      {canBeEnded(allocation) && (
        <Button look="dangerPlain" size={size} onClick={() => setOpen(true)}>
          Revoke
        </Button>
      )}
      {open && <RevokeDialog allocation={allocation} onClose={() => setOpen(false)} />}
    </>
  );
}
