/** The pool's only source of time, so that tests can turn it. */
export interface Clock {
  /** Milliseconds since 1970 by the server's clock. */
  now(): number;
  /** Calls `run` once after `ms`; the returned function cancels. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
