import type { Row } from '../spec/builders.js';
import type { GeneratedFile } from './output.js';
import { argumentList, parameterList } from './declarations.js';

function exportOf(row: Row, perThread: boolean, target: Row): string {
  const name = perThread && row.perThread ? `${row.symbol}_${row.perThread}` : row.symbol;
  const args = argumentList(row.parameters, (p) =>
    perThread && p.cType === 'CUstream' ? `per_thread(${p.name})` : p.name,
  );
  const looksUp = perThread && row.base === 'cuGetProcAddress';
  if (looksUp) args[3] = `per_thread_lookup(${args[3] ?? ''})`;
  if (row.perThread === 'ptds') args.push(perThread ? 'CU_STREAM_PER_THREAD' : 'nullptr');
  // Forms that are older than per-thread default streams mean the default one.
  const implied = target.perThread === 'ptds' || target.parameters.length > row.parameters.length;
  if (row.perThread === null && row.as !== null && implied) args.push('nullptr');
  if (perThread && row.base === 'cuLaunchKernelEx') args[0] = '&per_thread_config';
  const copy =
    perThread && row.base === 'cuLaunchKernelEx' ? '\n  PerThreadConfig per_thread_config(config);' : '';
  return `SLUICE_EXPORT CUresult ${name}(${parameterList(row.parameters)}) {
  observe("${name}");${copy}
  return calls::${target.symbol}(${args.join(', ')});
}`;
}

/** The exported functions of the client library. */
export function clientExports(spec: readonly Row[]): GeneratedFile[] {
  const bySymbol = new Map(spec.map((row) => [row.symbol, row]));
  const carried = spec.filter((row) => row.callClass !== 'unsupported');
  const exports = carried.flatMap((row) => {
    const target = (row.as === null ? row : bySymbol.get(row.as)) ?? row;
    return [exportOf(row, false, target), ...(row.perThread ? [exportOf(row, true, target)] : [])];
  });
  const text = `#include "client/export.h"
#include "generated/client_calls.h"
#include "generated/cuda_functions.h"

using namespace sluice::client;

extern "C" {

${exports.join('\n\n')}

}  // extern "C"
`;
  const refused = spec
    .filter((row) => row.callClass === 'unsupported')
    .flatMap((row) =>
      [row.symbol, ...(row.perThread ? [`${row.symbol}_${row.perThread}`] : [])].map((name) => ({
        name,
        reason: row.unsupportedReason,
      })),
    );
  const unsupported = `// Exported so that programs link and learn at the call what is not there.
#include "client/export.h"

using sluice::client::refuse;

extern "C" {

${refused.map(({ name, reason }) => `SLUICE_EXPORT CUresult ${name}() {\n  static std::atomic<bool> told;\n  return refuse("${name}", "${reason ?? ''}", &told);\n}`).join('\n\n')}

}  // extern "C"
`;
  return [
    { path: 'native/generated/client_exports.cc', text },
    { path: 'native/generated/client_unsupported.cc', text: unsupported },
  ];
}
