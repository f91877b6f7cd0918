// Barriers of a block. Threads are counted, not warps, so that a barrier in divergent code completes
// when every thread that it waits for has come, by whichever path.
#include <bit>

#include "softgpu/ptx/exec/launch.h"

namespace sluice::ptx {
namespace {

void complete(Block& block, uint32_t id) {
  Barrier& barrier = block.barriers[id];
  for (uint32_t w = 0; w < block.launch->warps; ++w) {
    Warp& warp = *block.warps[w];
    // The instruction after the barrier makes popc, and, or of these.
    warp.barrier_true = barrier.count_true;
    warp.barrier_lanes = barrier.lanes_in_reduction;
    if (warp.state == WarpState::kDone) continue;
    wake_splits(warp, static_cast<uint16_t>(id));
    if (warp.state == WarpState::kBlocked && warp.ready_count != 0) warp.state = WarpState::kReady;
  }
  barrier = Barrier{};
}

constexpr uint32_t kWholeBlock = 0xffffffffu;

}  // namespace

const Inst* barrier(Warp& warp, const Inst* in, const Inst* resume, uint32_t id, uint32_t count, bool waits,
                    uint32_t true_lanes) {
  Block& block = *warp.block;
  if (id >= kBarriers) return fault(warp, in, CUDA_ERROR_ILLEGAL_INSTRUCTION, "barrier number out of range");
  if (count % kLanes != 0) {
    return fault(warp, in, CUDA_ERROR_ILLEGAL_INSTRUCTION,
                 "barrier thread count is not a multiple of the warp size");
  }
  Barrier& at = block.barriers[id];
  const uint32_t expected = count == 0 ? kWholeBlock : count;
  if (at.expected == 0) at.expected = expected;
  if (count == 0) {
    at.arrived += static_cast<uint32_t>(std::popcount(warp.exec));
  } else {
    // With a count, hardware counts warps: a warp of any size stands for 32 threads.
    at.arrived += warp.exec == warp.live ? kLanes : static_cast<uint32_t>(std::popcount(warp.exec));
  }
  at.count_true += static_cast<uint32_t>(std::popcount(true_lanes & warp.exec));
  at.lanes_in_reduction += static_cast<uint32_t>(std::popcount(warp.exec));
  const uint32_t needed = at.expected == kWholeBlock ? block.live_threads : at.expected;
  if (at.arrived >= needed) {
    complete(block, id);
    return resume;
  }
  if (!waits) return resume;
  return block_split(warp, resume, static_cast<uint16_t>(id));
}

void check_barriers(Block& block) {
  for (uint32_t id = 0; id < kBarriers; ++id) {
    Barrier& at = block.barriers[id];
    if (at.expected != kWholeBlock || at.arrived == 0 || at.arrived < block.live_threads) continue;
    complete(block, id);
  }
}

}  // namespace sluice::ptx
