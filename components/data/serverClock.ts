// Leases and charts run on the server's clock. The browser's may be an hour off, so the difference is
// learned from the Date header of the API's answers.

const HEADER_RESOLUTION_MS = 1000;
const NOISE_MS = 2500;

let offsetMs = 0;

/**
 * The offset to add to the browser's clock, from one answer's Date header. Differences that the header's
 * one-second resolution and the network can explain count as none.
 */
export function clockOffset(dateHeader: string | null, browserNowMs: number): number | null {
  const serverMs = dateHeader === null ? Number.NaN : Date.parse(dateHeader);
  if (Number.isNaN(serverMs)) return null;
  const difference = serverMs + HEADER_RESOLUTION_MS / 2 - browserNowMs;
  return Math.abs(difference) < NOISE_MS ? 0 : difference;
}

export function observeServerDate(dateHeader: string | null): void {
  offsetMs = clockOffset(dateHeader, Date.now()) ?? offsetMs;
}

/** Now by the server's clock, in Unix milliseconds. */
export function serverNow(): number {
  return Date.now() + offsetMs;
}
