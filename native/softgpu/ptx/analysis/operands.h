// Which registers an instruction reads and writes.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "softgpu/ptx/parse/ast.h"

namespace sluice::ptx {

// Whether the first operand is a destination.
inline bool has_destination(const Function& function, const Instruction& in) {
  constexpr std::array<std::string_view, 25> kWithout{
      "st",         "red",          "bra",   "brx",      "membar",    "fence",   "exit",
      "ret",        "trap",         "brkpt", "prefetch", "prefetchu", "discard", "applypriority",
      "nanosleep",  "pmevent",      "sust",  "sured",    "stmatrix",  "cp",      "griddepcontrol",
      "setmaxnreg", "stackrestore", "wgmma", "multimem"};
  if (in.name == "bar" || in.name == "barrier")
    return in.modifier_count != 0 && [&] {
      for (uint32_t i = 0; i < in.modifier_count; ++i) {
        if (function.modifier(in, i) == "red") return true;
      }
      return false;
    }();
  return std::find(kWithout.begin(), kWithout.end(), in.name) == kWithout.end();
}

// Calls use(register) for every register read and define(register) for every one written.
template <class Use, class Define>
void for_registers(const Function& function, const Instruction& in, Use&& use, Define&& define) {
  if (in.guard != kNone) use(in.guard);
  if (in.second_destination != kNone) define(in.second_destination);
  const uint32_t destinations =
      in.name == "call" ? in.return_count : (has_destination(function, in) ? 1u : 0u);
  for (uint32_t i = 0; i < in.operand_count; ++i) {
    const Operand& operand = function.operand(in, i);
    const bool written = i < destinations;
    if (operand.kind == OperandKind::kRegister) {
      written ? define(operand.index) : use(operand.index);
    } else if (operand.kind == OperandKind::kAddress) {
      if (operand.index != kNone) use(operand.index);
    } else if (operand.kind == OperandKind::kVector) {
      for (uint32_t k = 0; k < operand.count; ++k) {
        const Operand& element = function.lists[operand.index + k];
        if (element.kind == OperandKind::kRegister) written ? define(element.index) : use(element.index);
      }
    }
  }
}

}  // namespace sluice::ptx
