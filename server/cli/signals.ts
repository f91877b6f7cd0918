// Signals that would end the command are caught from the first moment, so that nothing that was allocated is left.

const caught = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;
type Caught = (typeof caught)[number];

export interface SignalWatch {
  /** Who gets the signals from now on; null: nobody, they are only noted. */
  handle(handler: ((signal: Caught) => void) | null): void;
  /** The first signal that ends programs, when one came while nobody handled it. */
  readonly pending: Caught | null;
  /** Aborts with the first such signal. */
  readonly aborted: AbortSignal;
}

/** Begins to catch. The handlers stay until the process exits. */
export function watchSignals(): SignalWatch {
  const controller = new AbortController();
  let handler: ((signal: Caught) => void) | null = null;
  let pending: Caught | null = null;
  for (const signal of caught) {
    process.on(signal, () => {
      if (handler !== null) return handler(signal);
      if (signal === 'SIGUSR1' || signal === 'SIGUSR2') return;
      pending ??= signal;
      controller.abort();
    });
  }
  return {
    handle: (next) => {
      handler = next;
    },
    get pending() {
      return pending;
    },
    aborted: controller.signal,
  };
}
