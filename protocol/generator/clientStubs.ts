import type { Row } from '../spec/builders.js';
import type { Parameter } from '../spec/parameters.js';
import type { GeneratedFile } from './output.js';
import { isRegularInClient } from './checkSpec.js';
import { bodyParameters, capitalised, cTypeOf, isHandle, wireSize, wireType } from './declarations.js';

function isInput(p: Parameter): boolean {
  return p.direction === 'value' || p.direction === 'free' || p.direction === 'new';
}

function requestSize(row: Row): number {
  return row.parameters.filter(isInput).reduce((sum, p) => sum + wireSize(p.type), 0);
}

function resolveLines(row: Row): string[] {
  return row.parameters.flatMap((p) => {
    if (p.direction === 'out' || p.direction === 'new')
      return [`  if (${p.name} == nullptr) return CUDA_ERROR_INVALID_VALUE;`];
    if (!isHandle(p.type)) return [];
    return [
      `  std::uint32_t ${p.name}_index = 0;`,
      `  if (CUresult error = scope.resolve(${p.name}, &${p.name}_index)) return error;`,
    ];
  });
}

function putLine(p: Parameter): string {
  const value = isHandle(p.type) ? `${p.name}_index` : `static_cast<${wireType(p.type)}>(${p.name})`;
  return `  frame.put<${wireType(p.type)}>(${value});`;
}

/** A call about memory of another server than the current context's is made there. */
function reachLines(row: Row): string[] {
  const stream = row.parameters.find((p) => p.type === 'stream' && p.direction === 'value');
  const order = stream ? `${stream.name}, &${stream.name}_index` : 'nullptr, nullptr';
  return row.parameters
    .filter((p) => p.type === 'deviceptr' && p.direction === 'value')
    .slice(0, 1)
    .map((p) => `  if (CUresult error = scope.reach(${p.name}, ${order})) return error;`);
}

function mintLines(row: Row): string[] {
  return row.parameters
    .filter((p) => p.direction === 'new')
    .flatMap((p) => [
      `  std::uint32_t ${p.name}_index = 0;`,
      `  ${cTypeOf(p.type)} ${p.name}_handle = scope.mint_${p.type}(&${p.name}_index);`,
      `  if (${p.name}_handle == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;`,
    ]);
}

function sendLines(row: Row): string[] {
  const outs = row.parameters.filter((p) => p.direction === 'out');
  const after = row.parameters.flatMap((p) => {
    if (p.direction === 'new') return [`  *${p.name} = ${p.name}_handle;`];
    if (p.direction === 'free') return [`  scope.release(${p.name});`];
    return [];
  });
  if (row.callClass === 'async') {
    return ['  if (CUresult error = scope.post(frame)) return error;', ...after, '  return CUDA_SUCCESS;'];
  }
  const size = outs.reduce((sum, p) => sum + wireSize(p.type), 0);
  if (size === 0) return ['  CUresult result = scope.call(frame);', ...after, '  return result;'];
  return [
    `  wire::FixedReply<${size}> reply;`,
    '  if (CUresult error = scope.call(frame, reply)) return error;',
    ...outs.map((p) => `  *${p.name} = static_cast<${cTypeOf(p.type)}>(reply.get<${wireType(p.type)}>());`),
    ...after,
    '  return reply.complete() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;',
  ];
}

function stub(row: Row): string {
  const inputs = row.parameters.filter(isInput);
  const frame = row.callClass === 'sync' ? 'SyncFrame' : 'AsyncFrame';
  return [
    `CUresult ${row.symbol}(${bodyParameters(row)}) {`,
    '  Scope scope;',
    '  if (CUresult error = scope.enter()) return error;',
    ...resolveLines(row),
    ...reachLines(row),
    '  if (CUresult error = scope.need_context()) return error;',
    ...mintLines(row),
    `  wire::${frame}<${requestSize(row)}> frame(CallId::${row.symbol});`,
    ...inputs.map(putLine),
    ...sendLines(row),
    '}',
  ].join('\n');
}

/** Bodies of the regular calls in the client. */
export function clientStubs(spec: readonly Row[]): GeneratedFile[] {
  const regular = spec.filter(isRegularInClient);
  const kinds = [
    ...new Set(
      regular.flatMap((row) =>
        row.parameters.filter((p) => p.direction === 'new').map((p) => capitalised(p.type)),
      ),
    ),
  ];
  const text = `// Regular calls; handles that these mint: ${kinds.join(', ')}.
#include "client/scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"
#include "wire/frame.h"

namespace sluice::client::calls {

using generated::CallId;

${regular.map(stub).join('\n\n')}

}  // namespace sluice::client::calls
`;
  return [{ path: 'native/generated/client_stubs.cc', text }];
}
