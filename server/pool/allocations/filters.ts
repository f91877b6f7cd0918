import { SluiceError } from '../../errors';
import type { Candidate } from './candidates';

/** `key=value` of a request, as a person wrote it. */
export interface Filter {
  key: string;
  value: string;
}

/**
 * The candidates that match: for every key, any of its values.
 *
 * @throws FILTER_UNKNOWN listing the keys there are, FILTER_UNMATCHED when none is left.
 */
export function applyFilters(candidates: Candidate[], filters: readonly Filter[]): Candidate[] {
  const byKey = new Map<string, string[]>();
  for (const { key, value } of filters) byKey.set(key, [...(byKey.get(key) ?? []), value]);
  const tests = [...byKey].map(([key, values]) => ({ test: testOf(key), values }));
  const left = candidates.filter((c) =>
    tests.every(({ test, values }) => values.some((value) => test(c, value))),
  );
  if (left.length === 0 && candidates.length > 0) {
    throw new SluiceError(
      'FILTER_UNMATCHED',
      `No GPU of the pool matches ${filters.map((f) => `${f.key}=${f.value}`).join(', ')}.`,
      {
        hint: 'See `sluice list_gpus --json` for what there is.',
      },
    );
  }
  return left;
}

function testOf(key: string): (candidate: Candidate, value: string) => boolean {
  const test = TESTS[key];
  if (!test) {
    throw new SluiceError('FILTER_UNKNOWN', `There is no filter "${key}".`, {
      hint: `Filters: ${Object.keys(TESTS).join(', ')}.`,
    });
  }
  return test;
}

const TESTS: Record<string, (candidate: Candidate, value: string) => boolean> = {
  'server.addr': (c, value) => c.server.record.dataAddress === value || host(c) === value,
  'server.hostname': (c, value) => c.server.record.hostname.toLowerCase() === value.toLowerCase(),
  'server.cuda-version': (c, value) => hasPrefix(c.server.record.cudaVersion, value),
  'server.driver-version': (c, value) => hasPrefix(c.server.record.driverVersion, value),
  'device.id': (c, value) => c.gpu.uuid === value || String(c.gpu.index) === value,
  'device.name': (c, value) => c.gpu.name.toLowerCase().includes(value.toLowerCase()),
  'device.phy-memory': (c, value) => c.gpu.memoryTotalMib === Number(value),
  'device.uuid': (c, value) => c.gpu.uuid === value,
};

function host(c: Candidate): string {
  return c.server.record.dataAddress.replace(/:\d+$/, '');
}

/** 12.4 matches 12.4 and 12.4.1, not 12.40. */
function hasPrefix(version: string | null, value: string): boolean {
  return version === value || version?.startsWith(`${value}.`) === true;
}
