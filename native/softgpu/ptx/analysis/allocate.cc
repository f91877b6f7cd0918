// Liveness, then linear scan over live intervals. A lane's own path through the code is an ordinary
// path in the flow graph and writes touch active lanes only, so divergence needs no extra care.
#include <algorithm>
#include <map>
#include <queue>

#include "softgpu/ptx/analysis/flow.h"
#include "softgpu/ptx/analysis/operands.h"

namespace sluice::ptx {
namespace {

// Above this many bits of liveness every register keeps a slot of its own: bounded memory and time
// matter more for such a function than a compact frame.
constexpr uint64_t kMaxLivenessBits = uint64_t{1} << 28;

struct Interval {
  uint32_t start = kNone;
  uint32_t end = 0;
  void cover(uint32_t at) {
    start = std::min(start, at);
    end = std::max(end, at);
  }
};

using Bits = std::vector<uint64_t>;

bool intervals(const Function& function, const Flow& flow, std::vector<Interval>& out) {
  const size_t registers = function.registers.size();
  const size_t words = (registers + 63) / 64;
  const size_t blocks = flow.blocks.size();
  if (uint64_t{words} * 64 * blocks * 3 > kMaxLivenessBits) return false;
  Bits in(words * blocks), use(words * blocks), kill(words * blocks);
  const auto count = static_cast<uint32_t>(function.code.size());
  for (size_t b = 0; b < blocks; ++b) {
    uint64_t* const uses = &use[b * words];
    uint64_t* const kills = &kill[b * words];
    for (uint32_t i = flow.blocks[b].begin; i < std::min(flow.blocks[b].end, count); ++i) {
      const Instruction& at = function.code[i];
      const bool partial = at.guard != kNone;
      for_registers(
          function, at,
          [&](uint32_t r) {
            out[r].cover(i);
            if ((kills[r / 64] >> (r % 64) & 1) == 0) uses[r / 64] |= uint64_t{1} << (r % 64);
          },
          [&](uint32_t r) {
            out[r].cover(i);
            if (!partial) return;
            if ((kills[r / 64] >> (r % 64) & 1) == 0) uses[r / 64] |= uint64_t{1} << (r % 64);
          });
      if (!partial) {
        for_registers(
            function, at, [](uint32_t) {}, [&](uint32_t r) { kills[r / 64] |= uint64_t{1} << (r % 64); });
      }
    }
  }
  // Register parameters are written at the entry, return registers read at the end.
  for (const uint32_t r : function.parameter_registers) out[r].cover(0);
  for (const uint32_t r : function.return_registers) {
    out[r].cover(count);
    use[(blocks - 1) * words + r / 64] |= uint64_t{1} << (r % 64);
  }
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t b = blocks; b-- > 0;) {
      for (size_t w = 0; w < words; ++w) {
        uint64_t live_out = 0;
        for (const uint32_t s : flow.blocks[b].successors) live_out |= in[s * words + w];
        const uint64_t live_in = use[b * words + w] | (live_out & ~kill[b * words + w]);
        if (live_in != in[b * words + w]) {
          in[b * words + w] = live_in;
          changed = true;
        }
      }
    }
  }
  for (size_t b = 0; b < blocks; ++b) {
    const uint32_t begin = flow.blocks[b].begin;
    const uint32_t last = std::max(begin, flow.blocks[b].end - 1);
    for (size_t w = 0; w < words; ++w) {
      uint64_t live_out = 0;
      for (const uint32_t s : flow.blocks[b].successors) live_out |= in[s * words + w];
      for (uint64_t bits = in [b * words + w]; bits != 0; bits &= bits - 1) {
        out[w * 64 + static_cast<size_t>(__builtin_ctzll(bits))].cover(begin);
      }
      for (uint64_t bits = live_out; bits != 0; bits &= bits - 1) {
        out[w * 64 + static_cast<size_t>(__builtin_ctzll(bits))].cover(last);
      }
    }
  }
  return true;
}

}  // namespace

Allocation allocate_registers(const Function& function, const Flow& flow) {
  const size_t registers = function.registers.size();
  Allocation result;
  result.slot.assign(registers, 0);
  std::vector<Interval> live(registers);
  const bool exact = registers == 0 || intervals(function, flow, live);
  std::vector<uint32_t> order(registers);
  for (uint32_t i = 0; i < registers; ++i) order[i] = i;
  if (exact) {
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return live[a].start < live[b].start; });
  }
  // Slots of different sizes never overlap, so that a handler may write lane by lane while it reads.
  std::map<uint32_t, std::vector<uint32_t>> free;
  using Ending = std::pair<uint32_t, uint32_t>;  // end, register
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> active;
  uint32_t live_now = 0;
  uint64_t frame = 0;
  for (const uint32_t r : order) {
    const uint32_t bytes = slot_bytes(function.registers[r].type);
    if (exact) {
      while (!active.empty() && active.top().first < live[r].start) {
        const uint32_t ended = active.top().second;
        const uint32_t size = slot_bytes(function.registers[ended].type);
        free[size].push_back(result.slot[ended]);
        live_now -= std::max(size / 128, 1u);
        active.pop();
      }
      if (live[r].start == kNone) continue;  // never mentioned in code that runs
      active.emplace(live[r].end, r);
      live_now += std::max(bytes / 128, 1u);
      result.live_registers = std::max(result.live_registers, live_now);
      auto& candidates = free[bytes];
      if (!candidates.empty()) {
        result.slot[r] = candidates.back();
        candidates.pop_back();
        continue;
      }
    }
    const uint64_t aligned = bytes >= 64 ? (frame + 63) & ~uint64_t{63} : frame;
    if (aligned + bytes > kSlotLimit)
      throw PtxError{CUDA_ERROR_NOT_SUPPORTED, function.line, "too many registers"};
    result.slot[r] = static_cast<uint32_t>(aligned);
    frame = aligned + bytes;
  }
  if (!exact) result.live_registers = static_cast<uint32_t>(std::min<size_t>(registers, 255));
  result.frame_bytes = static_cast<uint32_t>((frame + 63) & ~uint64_t{63});
  return result;
}

}  // namespace sluice::ptx
