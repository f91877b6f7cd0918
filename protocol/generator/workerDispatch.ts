import type { Row } from '../spec/builders.js';
import type { Parameter } from '../spec/parameters.js';
import type { GeneratedFile } from './output.js';
import { isOnWire, isRegularInWorker } from './checkSpec.js';
import { cTypeOf, isHandle, wireType } from './declarations.js';

function readLines(p: Parameter): string[] {
  if (p.direction === 'out') return [`  ${cTypeOf(p.type)} ${p.name}{};`];
  if (p.direction === 'new')
    return [
      `  std::uint32_t ${p.name}_index = args.get<std::uint32_t>();`,
      `  ${cTypeOf(p.type)} ${p.name}{};`,
    ];
  if (isHandle(p.type)) return [`  std::uint32_t ${p.name}_index = args.get<std::uint32_t>();`];
  if (p.type === 'device') return [`  CUdevice ${p.name} = session.device(args.get<std::int32_t>());`];
  return [
    `  ${cTypeOf(p.type)} ${p.name} = static_cast<${cTypeOf(p.type)}>(args.get<${wireType(p.type)}>());`,
  ];
}

function handleLines(p: Parameter): string[] {
  if (!isHandle(p.type) || p.direction === 'out' || p.direction === 'new') return [];
  const find = p.direction === 'free' ? 'take' : 'find';
  return [
    `  ${cTypeOf(p.type)} ${p.name}{};`,
    `  if (!session.${find}(${p.name}_index, &${p.name})) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);`,
  ];
}

function body(row: Row): string {
  const call = row.parameters
    .map((p) => (p.direction === 'out' || p.direction === 'new' ? `&${p.name}` : p.name))
    .join(', ');
  const outs = row.parameters.filter((p) => p.direction === 'out');
  const news = row.parameters.filter((p) => p.direction === 'new');
  const uses = row.parameters.some((p) => p.direction !== 'out');
  return [
    `void ${row.symbol}(Session& session, Request& request) {`,
    ...(uses ? ['  wire::Reader& args = request.args;'] : []),
    ...row.parameters.flatMap(readLines),
    '  if (!request.args.finished()) return session.bad_frame(request);',
    ...row.parameters.flatMap(handleLines),
    `  if (session.driver.${row.symbol} == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);`,
    `  CUresult result = session.driver.${row.symbol}(${call});`,
    ...news.map((p) => `  if (result == CUDA_SUCCESS) session.bind(${p.name}_index, ${p.name});`),
    ...(outs.length > 0
      ? [
          '  wire::Writer answer;',
          ...outs.map(
            (p) => `  answer.put<${wireType(p.type)}>(static_cast<${wireType(p.type)}>(${p.name}));`,
          ),
          '  session.finish(request, result, answer);',
        ]
      : ['  session.finish(request, result);']),
    '}',
  ].join('\n');
}

/** The worker's switch over all calls, and the bodies of the regular ones. */
export function workerDispatch(spec: readonly Row[]): GeneratedFile[] {
  const wire = spec.filter(isOnWire);
  const header = `#pragma once

namespace sluice::worker {

class Session;
struct Request;

namespace calls {

${wire.map((row) => `void ${row.symbol}(Session& session, Request& request);`).join('\n')}

// Frames of the runtime itself: wire/frame.h.
void bind_default_pool(Session& session, Request& request);
void host_copy(Session& session, Request& request);
void graph_bind(Session& session, Request& request);
void graph_child(Session& session, Request& request);
void capture_node(Session& session, Request& request);
void invalidate_capture(Session& session, Request& request);
void share_host(Session& session, Request& request);
void unshare_host(Session& session, Request& request);
void write_shared(Session& session, Request& request);
void fetch_shared(Session& session, Request& request);

}  // namespace calls

// Runs the call that the request names; an unknown one ends the session.
void dispatch(Session& session, Request& request);

}  // namespace sluice::worker
`;
  const source = `#include "generated/call_ids.h"
#include "generated/worker_calls.h"
#include "worker/calls/session.h"

namespace sluice::worker {

using generated::CallId;

namespace calls {

${wire.filter(isRegularInWorker).map(body).join('\n\n')}

}  // namespace calls

void dispatch(Session& session, Request& request) {
  switch (request.call) {
${wire.map((row) => `    case CallId::${row.symbol}:\n      return calls::${row.symbol}(session, request);`).join('\n')}
  }
  session.bad_frame(request);
}

}  // namespace sluice::worker
`;
  return [
    { path: 'native/generated/worker_calls.h', text: header },
    { path: 'native/generated/worker_dispatch.cc', text: source },
  ];
}
