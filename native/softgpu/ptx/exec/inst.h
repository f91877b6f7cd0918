// The pre-decoded form that runs: one Inst is one handler call over a whole warp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "softgpu/ptx/parse/ast.h"

namespace sluice::ptx {

constexpr uint32_t kLanes = 32;

struct Warp;
struct Inst;

// Executes `in` for the warp's current lanes and returns what runs next. nullptr leaves the
// interpreter; the handler has then said why in Warp::state.
using Handler = const Inst* (*)(Warp& warp, const Inst* in);

// An operand is a byte offset into the register frame, or into the constants with kConstant set.
// Every slot holds 32 lanes of 2, 4, 8 or 16 bytes; a predicate is one bit per lane in 4 bytes.
using Slot = uint32_t;
constexpr Slot kConstant = 0x80000000u;
constexpr Slot kInverted = 0x40000000u;  // predicates only: !p
constexpr Slot kSlotMask = 0x3fffffffu;
constexpr Slot kNoSlot = 0x3fffffffu;

// Rounding (as MXCSR counts it) and flush-to-zero of one instruction.
enum FloatMode : uint8_t { kNearest = 0, kDown = 1, kUp = 2, kTowardZero = 3, kFlush = 4 };

struct alignas(64) Inst {
  Handler run = nullptr;
  Handler inner = nullptr;  // what a guarded instruction runs
  Slot guard = kNoSlot;
  Slot dst = kNoSlot;
  Slot src[4] = {kNoSlot, kNoSlot, kNoSlot, kNoSlot};
  uint64_t imm = 0;
  uint32_t extra =
      0;  // index into Code::extra, or a branch target (index, relative to this Inst after linking)
  int32_t reconverge = 0;  // branches: where lanes meet again, relative; 0 for nowhere
  uint16_t flags = 0;
  uint8_t float_mode = kNearest;
  uint8_t cache = 0;  // which entry of the thread's range cache this instruction prefers
};
static_assert(sizeof(Inst) == 64);

// Results of a function lie first in its local memory, one after the other, each aligned to this.
constexpr uint32_t kResultAlign = 8;

// A translated function.
struct Code {
  std::string name;
  std::vector<Inst> insts;
  std::vector<uint32_t> lines;  // per Inst
  std::vector<uint32_t> extra;
  uint32_t frame_bytes = 0;  // registers of one warp
  uint32_t local_bytes = 0;  // .local and .param variables of one thread
  std::vector<uint32_t> parameter_offsets;
  std::vector<uint32_t> parameter_bytes;
  PtxError refusal{CUDA_SUCCESS, 0, {}};  // a kernel that reaches this function is refused
};

}  // namespace sluice::ptx
