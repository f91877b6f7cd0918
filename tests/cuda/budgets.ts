// How many round trips each sample may take through the proxy, by the interface
// it is written against. A budget is what the program needs today; a change
// that needs more is a regression of what users feel on a real network. Lower a
// number when the proxy gets better.
import type { Form, Name } from './programs';

export interface Budget {
  /** Answers that the program waited for. */
  readonly roundTrips: number;
  /** Kernel launches, exactly: none may be dropped or doubled. */
  readonly launches: number;
}

const launches: Record<Name, number> = {
  device_query: 0,
  matrix_mul: 1,
  reduce: 1,
  saxpy_bandwidth: 1,
  stream_overlap: 13,
};

// The runtime libraries add none: all that they ask at their start is answered in the client.
const perProgram: Record<Name, number> = {
  device_query: 4,
  matrix_mul: 6,
  reduce: 4,
  saxpy_bandwidth: 6,
  stream_overlap: 16,
};

const roundTrips: Record<Form, Record<Name, number>> = {
  driver: perProgram,
  'cuda13-static': perProgram,
  'cuda13-shared': perProgram,
  'cuda12-shared': perProgram,
  'cuda11-shared': perProgram,
};

export function budget(name: Name, form: Form): Budget {
  return { roundTrips: roundTrips[form][name], launches: launches[name] };
}
