import type { Role } from './roles';

/** Who causes a change, as the audit log keeps it. */
export interface Actor {
  kind: 'user' | 'system' | 'agent';
  /** User id, or the server id of an agent; null for the system itself. */
  id: string | null;
  /** E-mail address, host name, or "system". */
  name: string;
  role: Role | null;
  /** Network address the request came from; null when there is none. */
  address: string | null;
}

/** What the control plane does by its own clock (leases, reconciliation). */
export const SYSTEM_ACTOR: Actor = { kind: 'system', id: null, name: 'system', role: null, address: null };
