import type { AllocationRow } from '../trpc/types';
import { Status, type Tone } from '../ui/Status';

const tones: Record<AllocationRow['state'], Tone> = {
  queued: 'busy',
  granted: 'busy',
  active: 'ok',
  releasing: 'busy',
  released: 'neutral',
  expired: 'neutral',
  revoked: 'warn',
  failed: 'bad',
};

export function AllocationStatus({ allocation }: Readonly<{ allocation: AllocationRow }>) {
  return (
    <span title={allocation.reason ?? undefined}>
      <Status tone={tones[allocation.state]}>{allocation.state}</Status>
    </span>
  );
}
