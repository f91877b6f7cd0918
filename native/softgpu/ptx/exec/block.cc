// A block's life on one host thread: its warps take turns.
#include <bit>
#include <cstring>
#include <new>

#include "softgpu/ptx/exec/launch.h"

namespace sluice::ptx {
namespace {

constexpr size_t kAlign = 128;

std::unique_ptr<char[]> aligned_storage(size_t bytes) {
  return std::unique_ptr<char[]>(new char[bytes + kAlign]);
}

char* align_up(char* p) {
  return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(p) + kAlign - 1) & ~(kAlign - 1));
}

const Inst* first(Warp& warp, const Code& code, uint32_t lanes) {
  warp.exec = warp.live = lanes;
  warp.carry = 0;
  warp.reconverge = nullptr;
  warp.state = WarpState::kReady;
  warp.ready_count = 0;
  warp.current = 0;
  for (uint8_t i = 0; i < warp.split_limit; ++i) warp.splits[i].in_use = false;
  warp.split_limit = 1;
  warp.splits[0] = Split{};
  warp.splits[0].in_use = true;
  warp.entry = Frame{};
  warp.entry.regs = warp.regs;
  warp.entry.code = &code;
  warp.entry.lanes = lanes;
  warp.frame = &warp.entry;
  if (!warp.frames.empty()) {
    warp.free_frames = warp.frames;
    for (Frame* frame : warp.frames) frame->lanes = 0;
  }
  return code.insts.data();
}

}  // namespace

void Block::start(Launch& to_run, Thread& on, uint64_t number) {
  launch = &to_run;
  thread = &on;
  linear = number;
  index.x = static_cast<uint32_t>(number % to_run.grid.x);
  index.y = static_cast<uint32_t>(number / to_run.grid.x % to_run.grid.y);
  index.z = static_cast<uint32_t>(number / to_run.grid.x / to_run.grid.y);
  live_threads = to_run.block_threads;
  live_warps = to_run.warps;
  for (Barrier& at : barriers) at = Barrier{};
  if (shared_capacity < to_run.shared_bytes || !shared_storage) {
    shared_capacity = to_run.shared_bytes + 64;
    shared_storage = aligned_storage(shared_capacity);
  }
  shared = align_up(shared_storage.get());
  const size_t frame = to_run.kernel->frame_bytes;
  if (register_bytes < frame * to_run.warps || !registers) {
    register_bytes = frame * to_run.warps;
    registers = aligned_storage(register_bytes);
    std::memset(registers.get(), 0, register_bytes + kAlign);
  }
  while (warps.size() < to_run.warps) warps.push_back(std::make_unique<Warp>());
  char* const base = align_up(registers.get());
  for (uint32_t w = 0; w < to_run.warps; ++w) {
    Warp& warp = *warps[w];
    const uint32_t threads = to_run.block_threads - w * kLanes;
    warp.regs = base + frame * w;
    warp.consts = to_run.consts;
    warp.thread = &on;
    warp.block = this;
    warp.index = w;
    warp.local = nullptr;
    warp.pc = first(warp, *to_run.kernel, threads >= kLanes ? 0xffffffffu : (1u << threads) - 1);
  }
}

char* Block::local_memory(Warp& warp) {
  const size_t per_warp = size_t{launch->local_bytes} * kLanes;
  if (local_capacity < per_warp * launch->warps || !local_storage) {
    local_capacity = per_warp * launch->warps;
    local_storage = aligned_storage(local_capacity);
  }
  warp.local = align_up(local_storage.get()) + per_warp * warp.index;
  return warp.local;
}

bool Block::run(bool once) {
  bool progress = true;
  while (live_warps != 0 && progress) {
    progress = false;
    for (uint32_t w = 0; w < launch->warps; ++w) {
      Warp& warp = *warps[w];
      if (warp.state != WarpState::kReady) continue;
      progress = true;
      const uint32_t before = warp.live;
      const Inst* pc = warp.pc != nullptr ? warp.pc : next_split(warp);
      warp.pc = nullptr;
      warp.fuel = kTurn;
      while (pc != nullptr) pc = pc->run(warp, pc);
      if (warp.state == WarpState::kFault) return true;
      if (warp.live != before) {
        live_threads -= static_cast<uint32_t>(std::popcount(before & ~warp.live));
        if (warp.live == 0) --live_warps;
        if (live_threads != 0) check_barriers(*this);
      }
      if (launch->stop.load(std::memory_order_relaxed)) return true;
    }
    if (launch->cancelled()) {
      launch->fail(CUDA_ERROR_LAUNCH_FAILED, "the launch was cancelled");
      return true;
    }
    if (once) return live_warps == 0;
  }
  if (live_warps != 0) {
    launch->fail(
        CUDA_ERROR_LAUNCH_FAILED,
        "every thread of a block waits at a barrier that cannot complete in " + launch->kernel->name);
  }
  return true;
}

}  // namespace sluice::ptx
