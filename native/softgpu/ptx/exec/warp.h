// The state of a warp: registers, active lanes, and the tree of splits that divergence makes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "softgpu/ptx/exec/inst.h"

namespace sluice::ptx {

struct Block;
struct Thread;

enum class WarpState : uint8_t { kReady, kBlocked, kDone, kFault };

// One activation of a function by (some lanes of) a warp.
struct Frame {
  char* regs = nullptr;
  Frame* caller = nullptr;
  const Code* code = nullptr;
  const Inst* return_pc = nullptr;
  const Inst* outer_reconverge = nullptr;
  uint32_t local_base = 0;  // of this activation in every lane's local memory
  uint32_t lanes = 0;       // that have not returned or exited
  uint32_t capacity = 0;    // bytes at regs, where they are the frame's own
};

// A node of the split tree. A leaf runs (or is ready or blocked); an inner node is a place where its
// descendants meet again: it has `waiting` lanes there and `out` lanes on their way.
struct Split {
  const Inst* pc = nullptr;
  const Inst* reconverge = nullptr;  // where this node itself ends and joins its parent
  Frame* frame = nullptr;
  uint32_t waiting = 0;  // leaf: its lanes
  uint32_t out = 0;      // 0 for a leaf
  uint8_t parent = 0xff;
  bool in_use = false;
  bool blocked = false;
  uint16_t barrier = 0;
};

// Every inner node holds at least one lane apart from the others, so 32 + 32 nodes are reached at most;
// the rest is for splits that were broken up to let a spinning warp go on.
constexpr uint32_t kMaxSplits = 128;
constexpr uint8_t kNoSplit = 0xff;
// Split::barrier of a split that waits for other lanes of its warp.
constexpr uint16_t kJoin = 0xffff;

struct Warp {
  char* regs = nullptr;
  const char* consts = nullptr;
  uint32_t exec = 0;                 // lanes that the current instruction runs for
  uint32_t live = 0;                 // lanes that have not exited
  uint32_t carry = 0;                // condition code CC.CF, one bit per lane
  const Inst* reconverge = nullptr;  // of the current split
  Frame* frame = nullptr;
  Thread* thread = nullptr;
  Block* block = nullptr;
  const Inst* pc = nullptr;  // where to go on, when not running
  int32_t fuel = 0;          // backward branches left in this turn
  WarpState state = WarpState::kReady;
  uint8_t current = 0;
  uint8_t ready_count = 0;
  uint8_t split_limit = 1;     // no split at or above this index is in use
  uint32_t index = 0;          // in the block
  uint32_t barrier_true = 0;   // outcome of the last barrier: threads whose predicate was true,
  uint32_t barrier_lanes = 0;  // and threads that took part
  std::array<uint8_t, kMaxSplits> ready{};
  std::array<Split, kMaxSplits> splits{};
  Frame entry;
  std::vector<Frame*> frames;       // all made so far, for reuse
  std::vector<Frame*> free_frames;  // those not in use
  char* local = nullptr;            // interleaved: word k of lane l at (k * 32 + l) * 4

  const void* at(Slot slot) const { return (slot & kConstant ? consts : regs) + (slot & kSlotMask); }
  template <class T>
  const T* src(Slot slot) const {
    return static_cast<const T*>(at(slot));
  }
  template <class T>
  T* dst(Slot slot) const {
    return reinterpret_cast<T*>(regs + slot);
  }
  uint32_t predicate(Slot slot) const {
    const uint32_t bits = *reinterpret_cast<const uint32_t*>(((slot & kConstant) ? consts : regs) +
                                                             (slot & kSlotMask & ~kInverted));
    return slot & kInverted ? ~bits : bits;
  }
  void set_predicate(Slot slot, uint32_t bits) const {
    uint32_t* p = reinterpret_cast<uint32_t*>(regs + slot);
    *p = (*p & ~exec) | (bits & exec);
  }
  // All lanes that still live run: what is written to the others does not matter.
  bool dense() const { return exec == live; }
};

// exec/diverge.cc: the split tree.

// Sends lanes `taken` to `target` and the others to `next`; they meet at `reconverge` (nullptr: never).
const Inst* split_branch(Warp& warp, uint32_t taken, const Inst* target, const Inst* next,
                         const Inst* reconverge);
// One destination per group of lanes; the groups cover warp.exec.
struct LaneGroup {
  uint32_t lanes = 0;
  const Inst* target = nullptr;
};
const Inst* split_many(Warp& warp, const LaneGroup* groups, uint32_t count, const Inst* reconverge);
// The current split has come to `in`, a place where splits meet.
const Inst* arrive(Warp& warp, const Inst* in);
// Lanes of the current split end.
const Inst* exit_lanes(Warp& warp, uint32_t lanes, const Inst* next);
// The current split waits (barrier, warp-wide exchange); another runs. It goes on at `resume`.
const Inst* block_split(Warp& warp, const Inst* resume, uint16_t barrier);
// All splits blocked on `barrier` may go on.
void wake_splits(Warp& warp, uint16_t barrier);
// `in` is done by all lanes of `mask` together (shfl.sync and its like), but not all of them are here:
// waits for the others, and does in->inner for all when they have come. Lanes that cannot come any more
// are not waited for.
const Inst* join_lanes(Warp& warp, const Inst* in, uint32_t mask);
// The turn is over: lets other splits and other warps run, then goes on at `resume`.
const Inst* take_turns(Warp& warp, const Inst* resume);
// Takes up a ready split; nullptr (and a state) when there is none.
const Inst* next_split(Warp& warp);

// exec/frames.cc
Frame* push_frame(Warp& warp, const Code& code, const Inst* return_pc);
const Inst* return_from(Warp& warp);
void drop_frames(Warp& warp);

}  // namespace sluice::ptx
