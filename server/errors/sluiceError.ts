import { errorCodes, type ErrorCode } from './codes';

/**
 * An error that a person may read. `message` says what is wrong and, together
 * with `hint`, what to do; it leaves the process as it is. `cause` is for the log only.
 */
export class SluiceError extends Error {
  readonly code: ErrorCode;
  /** What to do about it, when the message does not already say so. */
  readonly hint: string | null;

  constructor(code: ErrorCode, message: string, options: { hint?: string | null; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'SluiceError';
    this.code = code;
    this.hint = options.hint ?? null;
  }

  get httpStatus(): number {
    return errorCodes[this.code].http;
  }

  /** The shape that crosses process borders. */
  toWire(): WireError {
    return { code: this.code, message: this.message, hint: this.hint };
  }
}

/** A SluiceError as it travels: in `data.sluice` of a tRPC error and in JSON bodies of plain HTTP answers. */
export interface WireError {
  code: ErrorCode;
  message: string;
  hint: string | null;
}

/** True for a SluiceError of any copy of this module (a bundle may hold a second one). */
export function isSluiceError(error: unknown): error is SluiceError {
  return error instanceof Error && error.name === 'SluiceError' && 'code' in error && isErrorCode(error.code);
}

/** Any thrown value as a SluiceError; what is not one becomes INTERNAL with the value as cause. */
export function toSluiceError(error: unknown): SluiceError {
  if (isSluiceError(error)) return error;
  return new SluiceError('INTERNAL', 'Something went wrong inside the control plane.', {
    cause: error,
    hint: 'The server log has the details.',
  });
}

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(errorCodes, value);
}
