import type { AllocationRow } from '../trpc/types';

const HOLDING: readonly AllocationRow['state'][] = ['granted', 'active', 'releasing'];

/** True while an allocation holds its GPUs. */
export function isHolding(allocation: AllocationRow): boolean {
  return HOLDING.includes(allocation.state);
}

/** True while it can still be ended by somebody. */
export function canBeEnded(allocation: AllocationRow): boolean {
  return allocation.state === 'queued' || allocation.state === 'granted' || allocation.state === 'active';
}
