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

const roundTrips: Record<Form, Record<Name, number>> = {
  driver: { device_query: 4, matrix_mul: 8, reduce: 8, saxpy_bandwidth: 10, stream_overlap: 32 },
  'cuda13-static': { device_query: 8, matrix_mul: 12, reduce: 12, saxpy_bandwidth: 14, stream_overlap: 36 },
  'cuda13-shared': { device_query: 8, matrix_mul: 12, reduce: 12, saxpy_bandwidth: 14, stream_overlap: 36 },
  'cuda12-shared': { device_query: 8, matrix_mul: 12, reduce: 12, saxpy_bandwidth: 14, stream_overlap: 36 },
  'cuda11-shared': { device_query: 8, matrix_mul: 12, reduce: 12, saxpy_bandwidth: 14, stream_overlap: 36 },
};

export function budget(name: Name, form: Form): Budget {
  return { roundTrips: roundTrips[form][name], launches: launches[name] };
}
