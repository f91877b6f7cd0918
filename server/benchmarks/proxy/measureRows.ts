// All rounds of all runs.
import type { NativePaths } from '../../proxy/projectPaths';
import { measureFigure, measureRawTcp, measureStatistics, type BenchPrograms, type Figures } from './measure';
import { openRoutes } from './routes';
import { rows } from './rows';
import { counts, runs } from './runs';

export interface RowOptions {
  readonly native: NativePaths;
  readonly programs: BenchPrograms;
  readonly rounds: number;
  /** One row only; null: all. */
  readonly only: string | null;
  readonly tls: boolean;
  say(text: string): void;
}

/** Every value by the name that rows use for it, one per round. */
export async function measureRows(options: RowOptions): Promise<Map<string, number[]>> {
  const { native, programs, only } = options;
  const names = rows
    .filter(({ id }) => only === null || id === only)
    .flatMap(({ ours, limit }) => [ours, limit ?? '']);
  const needs = (prefix: string) => names.some((name) => name.startsWith(prefix));
  const wanted = runs.filter(({ id }) => needs(`${id}.`) || needs(`direct.${id}.`));
  const counted = counts.filter(({ id }) => needs(`count.${id}.`));
  const values = new Map<string, number[]>();
  const keep = (prefix: string, figures: Figures) => {
    for (const [name, value] of Object.entries(figures)) {
      const key = `${prefix}.${name}`;
      values.set(key, [...(values.get(key) ?? []), value]);
    }
  };
  const used = [...new Set([...wanted.map(({ route }) => route), 'noop' as const])];
  const routes = await openRoutes(native, programs, used, options.tls);
  try {
    for (let round = 1; round <= options.rounds; round += 1) {
      options.say(`round ${round} of ${options.rounds}`);
      if (needs('raw.')) keep('raw', await measureRawTcp(programs, routes.cores));
      for (const { id, parameters, route } of wanted) {
        keep(`direct.${id}`, await measureFigure(programs, parameters, routes.direct(route)));
        keep(id, await measureFigure(programs, parameters, routes.remote(route)));
      }
    }
    for (const { id, parameters, counts: both } of counted) {
      const of = (count: number) =>
        measureStatistics(programs, [...parameters, '--count', String(count)], routes.remote('noop'));
      const [few, many] = [await of(both[0]), await of(both[1])];
      const each = (value: (s: typeof few) => number) => (value(many) - value(few)) / (both[1] - both[0]);
      keep(`count.${id}`, {
        roundTrips: each((s) => s.roundTrips),
        bytesSent: each((s) => s.bytesSent),
      });
    }
  } finally {
    await routes.stop();
  }
  return values;
}
