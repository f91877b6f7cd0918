import type { Row } from '../spec/builders.js';
import type { GeneratedFile } from './output.js';
import { bodyParameters } from './declarations.js';

/** Declarations of the client's bodies: generated ones and hand-written ones. */
export function clientCalls(spec: readonly Row[]): GeneratedFile[] {
  const bodies = spec.filter((row) => row.callClass !== 'unsupported' && row.as === null);
  const text = `// What the exported functions do. Regular bodies are generated, the others are in
// native/client/calls/<object>.cc. Functions whose exported form has no stream get the
// default stream of the variant that was called.
#pragma once

#include "common/cuda_resource_types.h"
#include "common/cuda_types.h"

namespace sluice::client::calls {

${bodies.map((row) => `CUresult ${row.symbol}(${bodyParameters(row)});`).join('\n')}

}  // namespace sluice::client::calls
`;
  return [{ path: 'native/generated/client_calls.h', text }];
}
