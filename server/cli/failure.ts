// How a command fails: one sentence that says what is wrong, one that says what to do, and an exit status.

/** Exit statuses of `sluice` itself; `run` and `client` otherwise exit as their program does. */
export const exitStatus = {
  failed: 1,
  usage: 2,
  notExecutable: 126,
  notFound: 127,
  /** Plus the signal's number. */
  signal: 128,
} as const;

export class CliFailure extends Error {
  override name = 'CliFailure';

  constructor(
    message: string,
    readonly hint: string | null,
    readonly exitCode: number = exitStatus.failed,
  ) {
    super(message);
  }
}

/** What is printed of any error. Errors of the product carry a hint. */
export function sentences(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const hint = 'hint' in error && typeof error.hint === 'string' ? ` ${error.hint}` : '';
  return `${error.message}${hint}`;
}
