import { TRPCError } from '@trpc/server';
import { ZodError } from 'zod';
import { errorCodes, isSluiceError, SluiceError, toSluiceError, type WireError } from '../errors';
import { createLog } from '../log';

/**
 * The one place where errors of services become tRPC errors: the code decides
 * the status, unexpected ones are logged and leave as INTERNAL.
 */
export function mapErrors<Result extends { ok: boolean; error?: TRPCError }>(
  result: Result,
  path: string,
  type: string,
): Result {
  if (result.ok || !result.error) return result;
  const known = sluiceErrorOf(result.error);
  if (known.httpStatus >= 500 && known.code === 'INTERNAL') {
    createLog('api').error({ path, type, error: result.error.cause ?? result.error }, 'a procedure failed');
  }
  return {
    ...result,
    error: new TRPCError({ code: errorCodes[known.code].trpc, message: known.message, cause: known }),
  };
}

/** An error from before a procedure runs (a bad token) as tRPC wants it. */
export function toTrpcError(error: unknown): TRPCError {
  const known = toSluiceError(error);
  if (known.code === 'INTERNAL') createLog('api').error({ error }, 'a request could not be prepared');
  return new TRPCError({ code: errorCodes[known.code].trpc, message: known.message, cause: known });
}

/** What the client gets to see of an error. */
export function wireErrorOf(error: TRPCError): WireError {
  return sluiceErrorOf(error).toWire();
}

function sluiceErrorOf(error: TRPCError): SluiceError {
  if (isSluiceError(error.cause)) return error.cause;
  if (error.cause instanceof ZodError) return invalidInput(error.cause);
  if (error.code === 'NOT_FOUND') return new SluiceError('INVALID_REQUEST', error.message);
  if (BAD_REQUESTS.has(error.code))
    return new SluiceError('INVALID_REQUEST', 'The request could not be read.');
  return toSluiceError(error.cause ?? error);
}

/** tRPC's own refusals of malformed requests. */
const BAD_REQUESTS = new Set([
  'PARSE_ERROR',
  'BAD_REQUEST',
  'METHOD_NOT_SUPPORTED',
  'UNSUPPORTED_MEDIA_TYPE',
  'PAYLOAD_TOO_LARGE',
]);

function invalidInput(error: ZodError): SluiceError {
  const wrong = error.issues.map((issue) => `${issue.path.join('.') || 'input'}: ${issue.message}`);
  return new SluiceError('INVALID_REQUEST', `The request is not valid: ${wrong.join('; ')}.`);
}
