import { TRPCClientError } from '@trpc/client';

export type ErrorText = {
  /** The server's error code; null when no server answered. */
  code: string | null;
  message: string;
  hint: string | null;
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null);

/** Turns whatever a call threw into sentences for the screen. */
export function describeError(error: unknown): ErrorText {
  if (error instanceof TRPCClientError && isRecord(error.data)) {
    const sluice = isRecord(error.data.sluice) ? error.data.sluice : {};
    return {
      code: textOf(sluice.code) ?? textOf(error.data.code),
      message: textOf(sluice.message) ?? error.message,
      hint: textOf(sluice.hint),
    };
  }
  return {
    code: null,
    message: 'The Sluice server does not answer.',
    hint: 'It may be restarting, or the network between it and this browser is interrupted.',
  };
}
