import type { Row } from '../spec/builders.js';
import type { GeneratedFile } from './output.js';
import { parameterList } from './declarations.js';

function declarations(row: Row): string[] {
  const list = parameterList(row.parameters);
  const names = [row.symbol, ...(row.perThread ? [`${row.symbol}_${row.perThread}`] : [])];
  return names.map((name) => `CUresult ${name}(${list});`);
}

/** Declarations of the carried functions, for whoever calls or exports them. */
export function cudaFunctions(spec: readonly Row[]): GeneratedFile[] {
  const carried = spec.filter((row) => row.callClass !== 'unsupported');
  const objects = [...new Set(carried.map((row) => row.object))];
  const groups = objects.map((object) => {
    const lines = carried.filter((row) => row.object === object).flatMap(declarations);
    return `// ${object}\n${lines.join('\n')}`;
  });
  const text = `// The functions of the CUDA driver API that Sluice carries, as a driver exports them.
#pragma once

#include "common/cuda_resource_types.h"
#include "common/cuda_types.h"

extern "C" {

${groups.join('\n\n')}

}  // extern "C"
`;
  return [{ path: 'native/generated/cuda_functions.h', text }];
}
