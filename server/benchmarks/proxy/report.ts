// From the rounds to one row per figure, with the ratio to raw TCP and the goal.
import { median, type ProgramFigures, type RawTcpFigures } from './measure';

export interface Measured extends ProgramFigures {
  /** Milliseconds. */
  readonly firstResult: number;
}

export interface Round {
  readonly rawTcp: RawTcpFigures;
  readonly direct: Measured;
  readonly proxy: Measured;
}

export interface Row {
  readonly figure: string;
  readonly unit: 'µs' | 'ms' | '/s' | 'GB/s';
  /** null: raw TCP has nothing to compare with. */
  readonly rawTcp: number | null;
  readonly direct: number;
  readonly proxy: number;
  /** proxy ÷ raw TCP. */
  readonly ratio: number | null;
  /** In words; null: none is set. */
  readonly goal: string | null;
  readonly met: boolean | null;
}

/** What the proxy must reach with TLS off, against raw TCP in the same run. */
const goals = { roundTripRatio: 1.5, copyRatio: 0.7, launchesPerSecond: 200_000 };

export function summarize(rounds: readonly Round[]): { rows: Row[] } {
  const rawTcp = (pick: (figures: RawTcpFigures) => number) =>
    median(rounds.map((round) => pick(round.rawTcp)));
  const row = (
    figure: string,
    unit: Row['unit'],
    pick: (figures: Measured) => number,
    raw: number | null,
    goal: { words: string; met: (proxy: number, ratio: number) => boolean } | null,
  ): Row => {
    const direct = median(rounds.map((round) => pick(round.direct)));
    const proxy = median(rounds.map((round) => pick(round.proxy)));
    const ratio = raw === null ? null : proxy / raw;
    return {
      figure,
      unit,
      rawTcp: raw,
      direct,
      proxy,
      ratio,
      goal: goal?.words ?? null,
      met: goal === null ? null : goal.met(proxy, ratio ?? Number.NaN),
    };
  };
  const fast = {
    words: `≤ ${goals.roundTripRatio} × raw TCP`,
    met: (_: number, ratio: number) => ratio <= goals.roundTripRatio,
  };
  const wide = {
    words: `≥ ${goals.copyRatio} × raw TCP`,
    met: (_: number, ratio: number) => ratio >= goals.copyRatio,
  };
  const many = { words: '≥ 200,000/s', met: (proxy: number) => proxy >= goals.launchesPerSecond };
  const up = rawTcp((figures) => figures.toGBps);
  const down = rawTcp((figures) => figures.fromGBps);
  return {
    rows: [
      row(
        'synchronous call, p50',
        'µs',
        (f) => f.syncMicroseconds,
        rawTcp((f) => f.roundTripMicroseconds),
        fast,
      ),
      row('launches, as the caller sees them', '/s', (f) => f.launchesPerSecond, null, many),
      row('launches, completed', '/s', (f) => f.completedPerSecond, null, null),
      row('64 MiB to the device, pageable', 'GB/s', (f) => f.pageableToGBps, up, wide),
      row('64 MiB from the device, pageable', 'GB/s', (f) => f.pageableFromGBps, down, wide),
      row('64 MiB to the device, pinned', 'GB/s', (f) => f.pinnedToGBps, up, wide),
      row('64 MiB from the device, pinned', 'GB/s', (f) => f.pinnedFromGBps, down, wide),
      row('process start to first result', 'ms', (f) => f.firstResult, null, null),
    ],
  };
}
