// The same through networks with a delay and a rate: the training step, start-up, and a large copy.
import type { NativePaths } from '../../proxy/projectPaths';
import { measureFigure, measureFirstLaunch, type BenchPrograms } from './measure';
import { startRelay, type Link } from './relay';
import { openRoutes } from './routes';

export interface LinkFigures extends Link {
  /** Microseconds, through the link and on the driver directly. */
  readonly step: number;
  readonly stepDirect: number;
  /** Milliseconds to the first completed launch. */
  readonly start: number;
  /** GB/s of 256 MiB, and what the link's rate allows. */
  readonly to: number;
  readonly from: number;
  readonly rateGBps: number;
}

const links: readonly Link[] = [50, 1000, 30_000].flatMap((roundTripMicroseconds) =>
  [10, 1].map((gigabitsPerSecond) => ({ roundTripMicroseconds, gigabitsPerSecond })),
);

/** Measures over each link once. */
export async function measureLinks(
  native: NativePaths,
  programs: BenchPrograms,
  tls: boolean,
  say: (text: string) => void,
): Promise<LinkFigures[]> {
  const routes = await openRoutes(native, programs, ['noop'], tls);
  const measured: LinkFigures[] = [];
  try {
    for (const link of links) {
      say(`link: ${nameOf(link)}`);
      const relay = await startRelay(programs.relay, routes.address('noop'), link);
      try {
        const setting = routes.through('noop', relay.address);
        const figure = async (...parameters: string[]) => measureFigure(programs, parameters, setting);
        const { us = Number.NaN } = await figure('step', '--count', '10');
        const direct = await measureFigure(programs, ['step', '--count', '10'], routes.direct('noop'));
        const copy = await figure('copy', '--kib', String(256 << 10), '--times', '2');
        measured.push({
          ...link,
          step: us,
          stepDirect: direct.us ?? Number.NaN,
          start: await measureFirstLaunch(programs, setting, 3),
          to: copy.to ?? Number.NaN,
          from: copy.from ?? Number.NaN,
          rateGBps: link.gigabitsPerSecond / 8,
        });
      } finally {
        await relay.stop();
      }
    }
  } finally {
    await routes.stop();
  }
  return measured;
}

function nameOf({ roundTripMicroseconds, gigabitsPerSecond }: Link): string {
  const time =
    roundTripMicroseconds >= 1000 ? `${roundTripMicroseconds / 1000} ms` : `${roundTripMicroseconds} µs`;
  return `${time}, ${gigabitsPerSecond} Gbit/s`;
}

/** Prints one line per link. */
export function printLinks(figures: readonly LinkFigures[]): void {
  if (figures.length === 0) return;
  console.log(
    '\nthrough a relay (256 MiB pageable; the rate includes what this machine copies in the relay)',
  );
  for (const link of figures) {
    console.log(
      `  ${nameOf(link).padEnd(20)} step ${(link.step / 1000).toFixed(2)} ms (direct ${(link.stepDirect / 1000).toFixed(3)} ms)` +
        `  start ${link.start.toFixed(1)} ms  copy to ${link.to.toFixed(2)}, back ${link.from.toFixed(2)} of ${link.rateGBps.toFixed(2)} GB/s`,
    );
  }
}
