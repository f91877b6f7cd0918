// Divergence and reconvergence. A branch whose lanes disagree turns the current leaf into an inner
// node at the branch's immediate post-dominator, with one leaf per destination; a leaf that comes to
// that place hands its lanes to the node, and the last one to come lets the node run. Post-dominators
// exist for any control flow, so irreducible code needs no special case.
#include <bit>

#include "softgpu/ptx/exec/launch.h"

namespace sluice::ptx {
namespace {

uint8_t take_split(Warp& warp) {
  for (uint8_t i = 0; i < kMaxSplits; ++i) {
    if (warp.splits[i].in_use) continue;
    warp.splits[i] = Split{};
    warp.splits[i].in_use = true;
    if (i >= warp.split_limit) warp.split_limit = static_cast<uint8_t>(i + 1);
    return i;
  }
  return kNoSplit;
}

void park_current(Warp& warp, const Inst* pc) {
  Split& split = warp.splits[warp.current];
  split.pc = pc;
  split.waiting = warp.exec;
  split.reconverge = warp.reconverge;
  split.frame = warp.frame;
}

const Inst* run_split(Warp& warp, uint8_t index) {
  const Split& split = warp.splits[index];
  warp.current = index;
  warp.exec = split.waiting;
  warp.reconverge = split.reconverge;
  warp.frame = split.frame;
  warp.regs = split.frame->regs;
  return split.pc;
}

// A child of `parent` is gone (joined or exited). Runs the parent when nobody is out any more.
const Inst* child_gone(Warp& warp, uint8_t parent) {
  while (parent != kNoSplit) {
    Split& node = warp.splits[parent];
    if (node.out != 0) return next_split(warp);
    if (node.waiting != 0) return run_split(warp, parent);
    node.in_use = false;  // every lane exited on its way
    parent = node.parent;
  }
  return next_split(warp);
}

void add_ready(Warp& warp, uint8_t index) { warp.ready[warp.ready_count++] = index; }

}  // namespace

const Inst* next_split(Warp& warp) {
  if (warp.ready_count != 0) return run_split(warp, warp.ready[--warp.ready_count]);
  // Nobody else can come to where these lanes wait for others: they go on without them.
  for (uint8_t i = 0; i < warp.split_limit; ++i) {
    Split& split = warp.splits[i];
    if (!split.in_use || !split.blocked || split.barrier != kJoin) continue;
    split.blocked = false;
    return run_split(warp, i);
  }
  warp.current = kNoSplit;
  warp.exec = 0;
  warp.pc = nullptr;
  warp.state = warp.live == 0 ? WarpState::kDone : WarpState::kBlocked;
  return nullptr;
}

const Inst* split_many(Warp& warp, const LaneGroup* groups, uint32_t count, const Inst* reconverge) {
  uint8_t parent = warp.splits[warp.current].parent;
  const uint8_t before = warp.current;
  const Inst* const outer = warp.reconverge;
  if (reconverge != nullptr && reconverge != outer) {
    park_current(warp, reconverge);
    Split& node = warp.splits[before];
    node.waiting = 0;
    node.out = warp.exec;
    parent = before;
  } else {
    reconverge = outer;
    warp.splits[before].in_use = false;
  }
  // The first group runs first: it is put on the ready stack last.
  for (uint32_t i = count; i-- > 0;) {
    if (groups[i].target == reconverge && parent != kNoSplit) {
      warp.splits[parent].waiting |= groups[i].lanes;
      warp.splits[parent].out &= ~groups[i].lanes;
      continue;
    }
    const uint8_t index = take_split(warp);
    if (index == kNoSplit) {
      return fault(warp, groups[i].target, CUDA_ERROR_LAUNCH_FAILED,
                   "too many splits of a warp are on their way");
    }
    Split& leaf = warp.splits[index];
    leaf.pc = groups[i].target;
    leaf.reconverge = reconverge;
    leaf.frame = warp.frame;
    leaf.waiting = groups[i].lanes;
    leaf.parent = parent;
    add_ready(warp, index);
  }
  return child_gone(warp, parent);
}

const Inst* split_branch(Warp& warp, uint32_t taken, const Inst* target, const Inst* next,
                         const Inst* reconverge) {
  const LaneGroup groups[2] = {{warp.exec & ~taken, next}, {taken, target}};
  return split_many(warp, groups, 2, reconverge);
}

const Inst* arrive(Warp& warp, const Inst* in) {
  while (warp.reconverge == in) {
    Split& leaf = warp.splits[warp.current];
    const uint8_t parent = leaf.parent;
    leaf.in_use = false;
    Split& node = warp.splits[parent];
    node.waiting |= warp.exec;
    node.out &= ~warp.exec;
    const Inst* next = child_gone(warp, parent);
    if (next != in) return next;
  }
  return in + 1;
}

const Inst* exit_lanes(Warp& warp, uint32_t lanes, const Inst* next) {
  warp.live &= ~lanes;
  for (Frame* frame = warp.frame; frame != nullptr; frame = frame->caller) frame->lanes &= ~lanes;
  Split& leaf = warp.splits[warp.current];
  for (uint8_t node = leaf.parent; node != kNoSplit; node = warp.splits[node].parent) {
    warp.splits[node].out &= ~lanes;
  }
  warp.exec &= ~lanes;
  if (warp.exec != 0) return next;
  leaf.in_use = false;
  return child_gone(warp, leaf.parent);
}

const Inst* block_split(Warp& warp, const Inst* resume, uint16_t barrier) {
  park_current(warp, resume);
  Split& split = warp.splits[warp.current];
  split.blocked = true;
  split.barrier = barrier;
  return next_split(warp);
}

const Inst* join_lanes(Warp& warp, const Inst* in, uint32_t mask) {
  uint32_t together = warp.exec;
  const auto waits_here = [&](const Split& split) {
    return split.in_use && split.blocked && split.barrier == kJoin && split.pc == in &&
           split.frame == warp.frame;
  };
  for (uint8_t i = 0; i < warp.split_limit; ++i) {
    if (waits_here(warp.splits[i])) together |= warp.splits[i].waiting;
  }
  if ((mask & warp.live & ~together) != 0 && warp.ready_count != 0) return block_split(warp, in, kJoin);
  // All lanes' registers are in one frame: the instruction runs once for all, then each split goes on.
  const uint32_t here = warp.exec;
  warp.exec = together;
  const Inst* const next = in->inner(warp, in);
  warp.exec = here;
  for (uint8_t i = 0; i < warp.split_limit; ++i) {
    Split& split = warp.splits[i];
    if (!waits_here(split)) continue;
    split.blocked = false;
    split.pc = next;
    add_ready(warp, i);
  }
  return next;
}

void wake_splits(Warp& warp, uint16_t barrier) {
  for (uint8_t i = 0; i < warp.split_limit; ++i) {
    Split& split = warp.splits[i];
    if (!split.in_use || !split.blocked || split.barrier != barrier) continue;
    split.blocked = false;
    add_ready(warp, i);
  }
}

const Inst* take_turns(Warp& warp, const Inst* resume) {
  park_current(warp, resume);
  if (warp.ready_count == 0) {
    // Lanes may wait at a meeting place for this one, which spins for something that only they can do
    // (a lock they hold): let one such group go on by itself.
    for (uint8_t node = warp.splits[warp.current].parent; node != kNoSplit; node = warp.splits[node].parent) {
      if (warp.splits[node].waiting == 0) continue;
      const uint8_t index = take_split(warp);
      if (index == kNoSplit) break;
      Split& leaf = warp.splits[index];
      leaf = warp.splits[node];
      leaf.out = 0;
      warp.splits[node].waiting = 0;
      add_ready(warp, index);
      break;
    }
  }
  // The spinning split goes to the bottom, so that every other has its turn before it.
  for (uint8_t i = warp.ready_count; i > 0; --i) warp.ready[i] = warp.ready[i - 1];
  warp.ready[0] = warp.current;
  ++warp.ready_count;
  warp.pc = next_split(warp);
  warp.state = WarpState::kReady;
  return nullptr;
}

}  // namespace sluice::ptx
