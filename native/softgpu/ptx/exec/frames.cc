// Calls: a frame of registers per activation, taken from the warp's own pool.
#include "softgpu/ptx/exec/launch.h"

namespace sluice::ptx {
namespace {

// A thread's call depth is bounded by its stack; this bounds what registers cost the host as well.
constexpr size_t kMaxFrames = 16384;

}  // namespace

Frame* push_frame(Warp& warp, const Code& code, const Inst* return_pc) {
  const Launch& launch = *warp.block->launch;
  const uint64_t base = uint64_t{warp.frame->local_base} + warp.frame->code->local_bytes;
  if (base + code.local_bytes > launch.local_bytes) return nullptr;
  Frame* frame = nullptr;
  for (size_t i = warp.free_frames.size(); i-- > 0;) {
    if (warp.free_frames[i]->capacity < code.frame_bytes) continue;
    frame = warp.free_frames[i];
    warp.free_frames.erase(warp.free_frames.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
  if (frame == nullptr) {
    if (warp.frames.size() >= kMaxFrames) return nullptr;
    frame = new Frame;
    frame->regs = static_cast<char*>(::operator new (code.frame_bytes, std::align_val_t{64}));
    frame->capacity = code.frame_bytes;
    warp.frames.push_back(frame);
  }
  frame->code = &code;
  frame->caller = warp.frame;
  frame->return_pc = return_pc;
  frame->outer_reconverge = warp.reconverge;
  frame->local_base = static_cast<uint32_t>(base);
  frame->lanes = warp.exec;
  warp.frame = frame;
  warp.regs = frame->regs;
  warp.reconverge = nullptr;
  return frame;
}

const Inst* return_from(Warp& warp) {
  Frame* frame = warp.frame;
  const Inst* const next = frame->return_pc;
  warp.reconverge = frame->outer_reconverge;
  warp.frame = frame->caller;
  warp.regs = warp.frame->regs;
  frame->lanes &= ~warp.exec;
  if (frame->lanes == 0) warp.free_frames.push_back(frame);
  return next;
}

void drop_frames(Warp& warp) {
  for (Frame* frame : warp.frames) {
    ::operator delete (frame->regs, std::align_val_t{64});
    delete frame;
  }
  warp.frames.clear();
  warp.free_frames.clear();
}

}  // namespace sluice::ptx
