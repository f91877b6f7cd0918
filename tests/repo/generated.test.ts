import { describe, expect, it } from 'vitest';
import { checkSpec, coverageOf } from '@/protocol/generator/checkSpec';
import { generateAll } from '@/protocol/generator/generateAll';
import { readIds } from '@/protocol/generator/ids';
import { staleFiles } from '@/protocol/generator/output';
import { spec } from '@/protocol/spec';
import type { Row } from '@/protocol/spec/builders';
import { coverage, driverFunctions } from '@/server/generated/coverage';

describe('generated files', () => {
  it('are what the spec gives (else run: npm run generate)', () => {
    expect(staleFiles(generateAll())).toEqual([]);
  });

  it('count what the spec counts', () => {
    expect(coverage).toMatchObject({
      total: coverageOf(spec).total,
      unsupported: coverageOf(spec).unsupported,
    });
    expect(driverFunctions).toHaveLength(spec.length);
  });
});

describe('the spec', () => {
  const ids = readIds();

  it('gives each row one id and each id one row', () => {
    const numbers = spec.map((row) => ids.get(row.symbol));
    expect(numbers).not.toContain(undefined);
    expect(new Set(numbers).size).toBe(spec.length);
    expect(ids.size).toBe(spec.length);
  });

  // Ids are on the wire between versions: a moved line would make one call another.
  it.each([
    ['cuArray3DCreate', 1],
    ['cuCtxSynchronize', 13],
    ['cuLaunchKernel', 195],
    ['cuTensorMapSetAllocationClass', 617],
  ])('keeps the id of %s', (symbol, id) => {
    expect(ids.get(symbol)).toBe(id);
  });

  it('says why a function is not carried or not regular', () => {
    const silent = spec.filter((row) => row.callClass === 'unsupported' && !row.unsupportedReason);
    expect(silent).toEqual([]);
  });

  const good: Row = {
    object: 'event',
    symbol: 'cuSample',
    base: 'cuSample',
    version: 2000,
    callClass: 'local',
    parameters: [],
    perThread: null,
    as: null,
    clientReason: null,
    workerReason: null,
    unsupportedReason: null,
    reports: false,
  };

  it.each<[string, Row[], RegExp]>([
    ['a duplicate', [good, good], /two rows/],
    ['a row without an id', [{ ...good, symbol: 'cuOther' }], /cuOther has no id/],
    ['an id without a row', [], /cuSample is in protocol\/ids.txt and has no row/],
    ['a refusal without a reason', [{ ...good, callClass: 'unsupported' }], /without a reason/],
    ['an alias of nothing', [{ ...good, as: 'cuNothing' }], /behaves as cuNothing/],
  ])('stops the generator at %s', (_, rows, message) => {
    expect(() => checkSpec(rows, new Map([['cuSample', 1]]))).toThrow(message);
  });
});
