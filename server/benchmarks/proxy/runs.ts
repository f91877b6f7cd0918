// What is run for the table.

/** Which worker and which TLS setting a run goes through. */
export type Route = 'noop' | 'noop-tls' | 'softgpu';

/** One run of `proxy_figures` per round, directly and through a route. */
export interface Run {
  readonly id: string;
  readonly parameters: readonly string[];
  readonly route: Route;
}

/** What the client library counts in runs that differ in `--count` only: the difference per count. */
export interface Count {
  readonly id: string;
  readonly parameters: readonly string[];
  readonly counts: readonly [number, number];
}

const copies = (id: string, parameters: readonly string[]): Run[] => [
  { id, parameters: ['copy', ...parameters], route: 'noop' },
  { id: `${id}-softgpu`, parameters: ['copy', '--compare', ...parameters], route: 'softgpu' },
];

export const runs: readonly Run[] = [
  { id: 'sync', parameters: ['sync'], route: 'noop' },
  { id: 'launch', parameters: ['launch'], route: 'noop' },
  { id: 'launch-softgpu', parameters: ['launch'], route: 'softgpu' },
  { id: 'objects', parameters: ['objects'], route: 'noop' },
  { id: 'allocate', parameters: ['allocate'], route: 'noop' },
  ...copies('copy64', []),
  ...copies('pinned64', ['--pinned']),
  ...copies('copy1', ['--kib', '1024']),
  { id: 'small', parameters: ['small'], route: 'noop' },
  { id: 'load', parameters: ['load', '--count', '20'], route: 'noop' },
  { id: 'lives', parameters: ['lives'], route: 'noop' },
  { id: 'step', parameters: ['step', '--count', '100'], route: 'noop' },
  { id: 'tls-sync', parameters: ['sync'], route: 'noop-tls' },
  { id: 'tls-copy64', parameters: ['copy'], route: 'noop-tls' },
];

export const counts: readonly Count[] = [
  { id: 'load', parameters: ['load'], counts: [1, 11] },
  { id: 'step', parameters: ['step'], counts: [10, 20] },
  { id: 'launch4', parameters: ['launch4'], counts: [1000, 11000] },
];
