// Control flow of a function: basic blocks, and for each the place where lanes that part at its end
// meet again (its immediate post-dominator).
#pragma once

#include <cstdint>
#include <vector>

#include "softgpu/ptx/parse/ast.h"

namespace sluice::ptx {

struct FlowBlock {
  uint32_t begin = 0;  // instructions [begin, end)
  uint32_t end = 0;
  std::vector<uint32_t> successors;  // block indices; the exit block is not among them
  uint32_t post_dominator = kNone;   // block index; kNone when only the function's end is
};

struct Flow {
  std::vector<FlowBlock> blocks;
  std::vector<uint32_t> block_of;  // per instruction
};

// `ret` in a function goes to its end, where lanes meet; `exit` and `trap` end a lane.
Flow analyze_flow(const Function& function);

// For every register: where it is kept. Registers whose lifetimes do not overlap share a slot.
struct Allocation {
  std::vector<uint32_t> slot;  // per register, byte offset in the frame
  uint32_t frame_bytes = 0;
  uint32_t live_registers = 0;  // most 32-bit registers alive at once
};
Allocation allocate_registers(const Function& function, const Flow& flow);

// Frames stay below this, so that a slot leaves its two top bits to flags.
constexpr uint64_t kSlotLimit = 0x3f000000;

// Bytes of a slot that holds one register of this type for a warp.
constexpr uint32_t slot_bytes(Type type) {
  switch (type_bytes(type)) {
    case 0:
      return 4;
    case 1:
    case 2:
      return 64;
    case 4:
      return 128;
    case 8:
      return 256;
    default:
      return 512;
  }
}

}  // namespace sluice::ptx
