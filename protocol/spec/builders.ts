// The notation of the spec: one row per exported driver function.
//
//   local        answered in the client
//   asyncCall    sent, not waited for
//   sync         one round trip
//   unsupported  exported, returns CUDA_ERROR_NOT_SUPPORTED
//
// A row names the exported symbol, the CUDA version in which that symbol
// appeared (11020 is 11.2) and its parameters; parameters.ts reads those.
import { parseParameters, type Parameter } from './parameters.js';

export type CallClass = 'local' | 'async' | 'sync' | 'unsupported';

/** Which suffix the variant for per-thread default streams has. */
export type PerThread = 'ptsz' | 'ptds';

/** What makes a carried row irregular. A reason names a hand-written body. */
export interface RowOptions {
  /** The variant for per-thread default streams exists. `ptds`: the stream is implied. */
  perThread?: PerThread;
  /** Behaves as that other symbol does; the implied stream is passed on. */
  as?: string;
  /** Why the client's body is written by hand: `native/client/calls/<object>.cc`. */
  client?: string;
  /** Why the worker's body is written by hand: `native/worker/calls/<object>.cc`. */
  worker?: string;
  /** May report an error that an earlier asynchronous call caused. */
  reports?: boolean;
}

export interface Row {
  object: string;
  symbol: string;
  /** Name that programs give to cuGetProcAddress: the symbol without its version suffix. */
  base: string;
  version: number;
  callClass: CallClass;
  parameters: Parameter[];
  perThread: PerThread | null;
  as: string | null;
  clientReason: string | null;
  workerReason: string | null;
  unsupportedReason: string | null;
  reports: boolean;
}

type RowWithoutObject = Omit<Row, 'object'>;

function row(
  callClass: CallClass,
  symbol: string,
  version: number,
  parameters: string,
  options: RowOptions,
): RowWithoutObject {
  return {
    symbol,
    base: symbol.replace(/_v\d+$/, ''),
    version,
    callClass,
    parameters: parseParameters(symbol, parameters),
    perThread: options.perThread ?? null,
    as: options.as ?? null,
    clientReason: options.client ?? null,
    workerReason: options.worker ?? null,
    unsupportedReason: null,
    reports: options.reports ?? false,
  };
}

/** A function that the client answers by itself, or by other calls. */
export function local(
  symbol: string,
  version: number,
  parameters: string,
  options: RowOptions = {},
): RowWithoutObject {
  return row('local', symbol, version, parameters, options);
}

/** A function that is sent and not waited for; its error is reported by a later call. */
export function asyncCall(
  symbol: string,
  version: number,
  parameters: string,
  options: RowOptions = {},
): RowWithoutObject {
  return row('async', symbol, version, parameters, options);
}

/** A function whose answer the program needs: one round trip. */
export function sync(
  symbol: string,
  version: number,
  parameters: string,
  options: RowOptions = {},
): RowWithoutObject {
  return row('sync', symbol, version, parameters, options);
}

/** A function that is exported and refused. Its parameters do not matter. */
export function unsupported(
  symbol: string,
  version: number,
  reason: string,
  perThread: PerThread | null = null,
): RowWithoutObject {
  return { ...row('unsupported', symbol, version, '', {}), perThread, unsupportedReason: reason };
}

/** The rows of one object; hand-written bodies live in files of that name. */
export function rows(object: string, list: RowWithoutObject[]): Row[] {
  return list.map((entry) => ({ object, ...entry }));
}
