import type { CallClass, Row } from '../spec/builders.js';

export interface Coverage {
  total: number;
  carried: number;
  unsupported: number;
  byClass: Record<CallClass, number>;
}

/** Counts the rows by class. */
export function coverageOf(spec: readonly Row[]): Coverage {
  const byClass: Record<CallClass, number> = { local: 0, async: 0, sync: 0, unsupported: 0 };
  for (const row of spec) byClass[row.callClass] += 1;
  const { unsupported } = byClass;
  return { total: spec.length, carried: spec.length - unsupported, unsupported, byClass };
}

/** True when the generator writes the client's body. */
export function isRegularInClient(row: Row): boolean {
  return (
    row.callClass !== 'local' &&
    row.callClass !== 'unsupported' &&
    row.clientReason === null &&
    row.as === null
  );
}

/** True when the generator writes the worker's body. */
export function isRegularInWorker(row: Row): boolean {
  return row.callClass !== 'local' && row.callClass !== 'unsupported' && row.workerReason === null;
}

/** True when the call has frames of its own. */
export function isOnWire(row: Row): boolean {
  return row.callClass === 'async' || row.callClass === 'sync';
}

function problemsOf(row: Row, bySymbol: ReadonlyMap<string, Row>): string[] {
  const problems: string[] = [];
  if (row.callClass === 'unsupported') {
    if (!row.unsupportedReason) problems.push('is unsupported without a reason');
    return problems;
  }
  if (row.as !== null) {
    const target = bySymbol.get(row.as);
    if (!target || target.callClass === 'unsupported' || target.as !== null)
      problems.push(`behaves as ${row.as}, which is not carried`);
    if (row.callClass !== 'local') problems.push('has "as" and frames of its own');
  }
  if (
    row.perThread === 'ptsz' &&
    row.parameters.length > 0 &&
    !row.parameters.some((p) => p.type === 'stream')
  ) {
    const hidden = ['cuLaunchKernelEx', 'cuGraphInstantiateWithParams'];
    if (!row.base.startsWith('cuGetProcAddress') && !hidden.includes(row.base))
      problems.push('has no stream for its per-thread variant');
  }
  const regular = isRegularInClient(row) || isRegularInWorker(row);
  for (const parameter of row.parameters) {
    const memory = ['reads', 'writes', 'keeps', 'in', 'inout'].includes(parameter.direction);
    if (memory && isRegularInClient(row))
      problems.push(`is irregular (${parameter.name} is memory): give the reason`);
    if (parameter.direction === 'out' && row.callClass === 'async' && regular)
      problems.push(`is async and has the result ${parameter.name}`);
    if (parameter.length !== null && !row.parameters.some((p) => p.name === parameter.length)) {
      problems.push(`counts ${parameter.name} by ${parameter.length}, which is no parameter`);
    }
  }
  return problems;
}

/** Stops the generator on a gap, a duplicate or an inconsistent row; names all of them. */
export function checkSpec(spec: readonly Row[], ids: ReadonlyMap<string, number>): void {
  const problems: string[] = [];
  const bySymbol = new Map<string, Row>();
  const versions = new Set<string>();
  for (const row of spec) {
    if (bySymbol.has(row.symbol)) problems.push(`${row.symbol} has two rows`);
    bySymbol.set(row.symbol, row);
    const key = `${row.base} ${row.version}`;
    if (versions.has(key)) problems.push(`${row.base} has two symbols for version ${row.version}`);
    versions.add(key);
    if (!ids.has(row.symbol)) problems.push(`${row.symbol} has no id: append it to protocol/ids.txt`);
  }
  for (const symbol of ids.keys()) {
    if (!bySymbol.has(symbol)) problems.push(`${symbol} is in protocol/ids.txt and has no row`);
  }
  for (const row of spec)
    problems.push(...problemsOf(row, bySymbol).map((problem) => `${row.symbol} ${problem}`));
  if (problems.length > 0) throw new Error(`The spec is inconsistent:\n  ${problems.join('\n  ')}`);
}
