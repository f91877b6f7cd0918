import type { Row } from '../spec/builders.js';
import type { GeneratedFile } from './output.js';
import { coverageOf } from './checkSpec.js';

/** The coverage table and the ids for the TypeScript side. */
export function serverModule(spec: readonly Row[], ids: ReadonlyMap<string, number>): GeneratedFile[] {
  const rows = [...spec].sort((a, b) => (ids.get(a.symbol) ?? 0) - (ids.get(b.symbol) ?? 0));
  const lines = rows.map((row) => {
    const reason =
      row.unsupportedReason === null
        ? 'null'
        : JSON.stringify(row.unsupportedReason).replaceAll("'", "\\'").replaceAll('"', "'");
    return `  { id: ${ids.get(row.symbol) ?? 0}, symbol: '${row.symbol}', version: ${row.version}, callClass: '${row.callClass}', reason: ${reason} },`;
  });
  const { total, carried, unsupported, byClass } = coverageOf(spec);
  const text = `/** How a driver function is handled. */
export type CallClass = 'local' | 'async' | 'sync' | 'unsupported';

export interface DriverFunction {
  id: number;
  symbol: string;
  /** CUDA version in which the symbol appeared; 11020 is 11.2. */
  version: number;
  callClass: CallClass;
  /** Why it is not carried, or null when it is. */
  reason: string | null;
}

/** Number of driver functions by class. */
export const coverage = {
  total: ${total},
  carried: ${carried},
  unsupported: ${unsupported},
  local: ${byClass.local},
  async: ${byClass.async},
  sync: ${byClass.sync},
} as const;

/** All functions that a driver exports, by id. */
export const driverFunctions: readonly DriverFunction[] = [
${lines.join('\n')}
];
`;
  return [{ path: 'server/generated/coverage.ts', text }];
}
