import type { Row } from '../spec/builders.js';
import type { Parameter } from '../spec/parameters.js';
import type { GeneratedFile } from './output.js';
import { parameterList } from './declarations.js';

function sameTypes(a: readonly Parameter[], b: readonly Parameter[]): boolean {
  return a.length === b.length && a.every((p, i) => p.cType === b[i]?.cType);
}

function body(row: Row, forward: Row | undefined): string {
  const names = row.parameters.map((p) => p.name).join(', ');
  if (forward && sameTypes(row.parameters, forward.parameters)) return `return ${forward.symbol}(${names});`;
  const results = row.parameters.filter((p) => p.direction === 'out' || p.direction === 'new');
  return [...results.map((p) => `answer(${p.name});`), 'return CUDA_SUCCESS;'].join(' ');
}

function functions(row: Row, bySymbol: ReadonlyMap<string, Row>): string[] {
  const forward = row.as === null ? undefined : bySymbol.get(row.as);
  const list = parameterList(row.parameters);
  const names = row.parameters.map((p) => p.name).join(', ');
  // Unnamed where nothing reads them: the driver answers without looking at what it is asked.
  const text = body(row, forward);
  const used = (p: Parameter) => new RegExp(`\\b${p.name}\\b`).test(text);
  const head = row.parameters.map((p) => `${p.cType}${used(p) ? ` ${p.name}` : ''}`).join(', ');
  const plain = `NOOP_DEFAULT CUresult ${row.symbol}(${head}) { ${text} }`;
  if (row.perThread === null) return [plain];
  return [
    plain,
    `NOOP_DEFAULT CUresult ${row.symbol}_${row.perThread}(${list}) { return ${row.symbol}(${names}); }`,
  ];
}

/**
 * A driver that answers every carried function at once: results are fresh handles and zeros. All of it
 * is weak, so that native/samples/bench/noop_driver overrides what needs a better answer.
 */
export function noopDriver(spec: readonly Row[]): GeneratedFile[] {
  const carried = spec.filter((row) => row.callClass !== 'unsupported');
  const bySymbol = new Map(carried.map((row) => [row.symbol, row]));
  const text = `// Every carried function of a driver that does nothing.
#include "generated/cuda_functions.h"
#include "noop_driver/answer.h"

extern "C" {

${carried.flatMap((row) => functions(row, bySymbol)).join('\n')}

}  // extern "C"
`;
  return [{ path: 'native/generated/noop_driver.cc', text }];
}
