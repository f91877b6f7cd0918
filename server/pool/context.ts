import type { Database } from '../db/database';
import type { Logger } from '../log';
import type { Announcer } from './events/announce';
import type { GrantWaits } from './allocations/grantWaits';
import type { Clock } from './clock';
import type { LivePool } from './live/live';
import type { Recorder } from './telemetry/recorder';

/** Everything the parts of the pool work with; made once in createPool. */
export interface PoolContext {
  db: Database;
  clock: Clock;
  log: Logger;
  live: LivePool;
  /** Tells listeners what changed. */
  announce: Announcer;
  recorder: Recorder;
  /** Requests that wait for workers to take a grant. */
  grantWaits: GrantWaits;
  /** Requests that wait for capacity; called when some came back. */
  capacity: CapacitySignal;
  serverVersion: string;
}

/** Wakes whoever waits for capacity. */
export interface CapacitySignal {
  changed(): void;
  /** Resolves at the next change, after `ms`, or when `signal` aborts. */
  wait(ms: number, signal: AbortSignal | undefined): Promise<void>;
}
