// The network's round trip, seen as the time in which a TCP connect is answered.
import { connect } from 'node:net';
import { splitAddress } from '../proxy/checks';

export interface RoundTrip {
  readonly minMs: number | null;
  readonly p50Ms: number | null;
  readonly maxMs: number | null;
  /** Why there are no figures; null when there are. */
  readonly error: string | null;
}

const timeoutMs = 3000;

/** Connects `rounds` times, one after the other. */
export async function measureRoundTrip(address: string, rounds: number): Promise<RoundTrip> {
  const times: number[] = [];
  try {
    for (let round = 0; round < rounds; round++) times.push(await connectMs(address));
  } catch (error) {
    return {
      minMs: null,
      p50Ms: null,
      maxMs: null,
      error: error instanceof Error ? error.message : String(error),
    };
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? null;
  return { minMs: at(0), p50Ms: at(0.5), maxMs: at(1), error: null };
}

function connectMs(address: string): Promise<number> {
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const socket = connect(splitAddress(address), () => {
      resolve(performance.now() - startedAt);
      socket.destroy();
    });
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
    socket.on('error', reject);
  });
}
