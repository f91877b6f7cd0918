import type { Row } from '../spec/builders.js';
import type { GeneratedFile } from './output.js';
import { isOnWire } from './checkSpec.js';

/** Ids and names of all calls. */
export function callIds(spec: readonly Row[], ids: ReadonlyMap<string, number>): GeneratedFile[] {
  const ordered = [...ids.entries()].sort((a, b) => a[1] - b[1]);
  const wire = spec.filter(isOnWire);
  const idOf = (row: Row): number => ids.get(row.symbol) ?? 0;
  const header = `#pragma once

#include <cstdint>

namespace sluice::generated {

// Calls that have frames on the wire. Ids are stable: protocol/ids.txt.
enum class CallId : std::uint16_t {
${wire.map((row) => `  ${row.symbol} = ${idOf(row)},`).join('\n')}
};

// One more than the greatest id of a driver function.
constexpr std::uint16_t kCallIdEnd = ${ordered.length + 1};

// Name of a driver function by its id, carried or not; "unknown call" outside the table.
const char* call_name(std::uint16_t id);

// Whether the answer to the call may carry an error that an earlier asynchronous call caused.
bool may_report_earlier_error(CallId id);

}  // namespace sluice::generated
`;
  const reporting = wire.filter((row) => row.reports);
  const source = `#include "generated/call_ids.h"

namespace sluice::generated {
namespace {

constexpr const char* kNames[] = {
    "unknown call",
${ordered.map(([symbol]) => `    "${symbol}",`).join('\n')}
};

}  // namespace

const char* call_name(std::uint16_t id) { return kNames[id < kCallIdEnd ? id : 0]; }

bool may_report_earlier_error(CallId id) {
  switch (id) {
${reporting.map((row) => `    case CallId::${row.symbol}:`).join('\n')}
      return true;
    default:
      return false;
  }
}

}  // namespace sluice::generated
`;
  return [
    { path: 'native/generated/call_ids.h', text: header },
    { path: 'native/generated/call_ids.cc', text: source },
  ];
}
