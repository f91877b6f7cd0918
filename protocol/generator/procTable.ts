import type { Row } from '../spec/builders.js';
import type { GeneratedFile } from './output.js';

/** What cuGetProcAddress chooses from: for each base name its symbols by version, newest last. */
export function procTable(spec: readonly Row[]): GeneratedFile[] {
  const bases = new Map<string, Row[]>();
  for (const row of spec) bases.set(row.base, [...(bases.get(row.base) ?? []), row]);
  const sorted = [...bases.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = sorted.flatMap(([base, rows]) =>
    rows
      .sort((a, b) => a.version - b.version)
      .map((row) => {
        const variant = row.perThread
          ? `reinterpret_cast<void*>(&${row.symbol}_${row.perThread})`
          : 'nullptr';
        const carried = row.callClass !== 'unsupported';
        return `    {"${base}", ${row.version}, ${carried}, reinterpret_cast<void*>(&${row.symbol}), ${variant}},`;
      }),
  );
  const refused = spec.filter((row) => row.callClass === 'unsupported');
  const declare = refused.flatMap((row) => [
    row.symbol,
    ...(row.perThread ? [`${row.symbol}_${row.perThread}`] : []),
  ]);
  const header = `#pragma once

#include <span>

namespace sluice::client {

// One symbol behind a name that programs ask for.
struct ProcEntry {
  const char* base;
  int version;  // CUDA version in which the symbol appeared
  bool carried;
  void* function;
  void* per_thread;  // the variant for per-thread default streams, or null
};

// Sorted by base name, then by version.
std::span<const ProcEntry> proc_table();

}  // namespace sluice::client
`;
  const source = `#include "generated/proc_table.h"

#include "generated/cuda_functions.h"

extern "C" {
${declare.map((name) => `CUresult ${name}();`).join('\n')}
}

namespace sluice::client {
namespace {

const ProcEntry kTable[] = {
${lines.join('\n')}
};

}  // namespace

std::span<const ProcEntry> proc_table() { return kTable; }

}  // namespace sluice::client
`;
  return [
    { path: 'native/generated/proc_table.h', text: header },
    { path: 'native/generated/proc_table.cc', text: source },
  ];
}
