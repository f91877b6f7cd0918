import type { AllocationState } from './views';

// queued ──► granted ──► active ──┐
//    │           └──────────────┐ │
//    ▼                          ▼ ▼
//  failed                    releasing ──► released | expired | revoked | failed
//
// "releasing" carries the final state with it and ends when every GPU is proved free.

/** Final states that an allocation in "releasing" may be on its way to. */
export type EndState = 'released' | 'expired' | 'revoked' | 'failed';

/** True while programs may connect with the grant. */
export function isServable(state: AllocationState): boolean {
  return state === 'granted' || state === 'active';
}

/** True while the allocation takes capacity from its GPUs. */
export function holdsCapacity(state: AllocationState): boolean {
  return isServable(state) || state === 'releasing';
}

export function isEnded(state: AllocationState): state is EndState {
  return state === 'released' || state === 'expired' || state === 'revoked' || state === 'failed';
}

/** True for a lease that may be renewed and may run out. */
export function hasLease(state: AllocationState): boolean {
  return isServable(state);
}

export function canTransition(from: AllocationState, to: AllocationState): boolean {
  return NEXT[from].includes(to);
}

const NEXT: Record<AllocationState, readonly AllocationState[]> = {
  queued: ['granted', 'failed', 'released'],
  granted: ['active', 'releasing'],
  active: ['releasing'],
  releasing: ['released', 'expired', 'revoked', 'failed'],
  released: [],
  expired: [],
  revoked: [],
  failed: [],
};

/** States that still need attention; all others are history. */
export const LIVE_STATES: readonly AllocationState[] = ['queued', 'granted', 'active', 'releasing'];

/** A state as read from the database, where a check constraint keeps the list. */
export function asState(value: string): AllocationState {
  if (!Object.hasOwn(NEXT, value)) throw new Error(`unknown allocation state ${value}`);
  return value as AllocationState;
}

export function asEndState(value: string | null): EndState {
  const state = asState(value ?? '');
  if (!isEnded(state)) throw new Error(`${state} is not a final state`);
  return state;
}
