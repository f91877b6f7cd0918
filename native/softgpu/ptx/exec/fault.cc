#include <xmmintrin.h>

#include <cstdio>

#include "softgpu/ptx/exec/launch.h"

namespace sluice::ptx {

void Launch::fail(CUresult code, std::string message) {
  const std::lock_guard lock(fault_lock);
  if (fault.code == CUDA_SUCCESS) fault = {code, std::move(message)};
  stop.store(true, std::memory_order_relaxed);
}

const Inst* fault(Warp& warp, const Inst* in, CUresult code, const std::string& what) {
  const Code& function = *warp.frame->code;
  const auto at = static_cast<size_t>(in - function.insts.data());
  std::string message = what;
  message += " in " + function.name;
  if (at < function.lines.size()) message += ", PTX line " + std::to_string(function.lines[at]);
  const Dim3 block = warp.block->index;
  message += ", block (" + std::to_string(block.x) + "," + std::to_string(block.y) + "," +
             std::to_string(block.z) + "), warp " + std::to_string(warp.index);
  warp.block->launch->fail(code, std::move(message));
  warp.state = WarpState::kFault;
  return nullptr;
}

const Inst* memory_fault(Warp& warp, const Inst* in, CUresult code, uint64_t address, uint32_t bytes,
                         const char* space, bool store) {
  char text[160];
  std::snprintf(text, sizeof text, "%s %s of %u bytes at 0x%llx",
                code == CUDA_ERROR_MISALIGNED_ADDRESS ? "misaligned" : "invalid",
                (std::string(space) + (store ? " write" : " read")).c_str(), bytes,
                static_cast<unsigned long long>(address));
  return fault(warp, in, code, text);
}

void switch_float_mode(Thread& thread, uint8_t mode) {
  // All exceptions masked; rounding in bits 13-14; flush-to-zero (15) with denormals-are-zero (6).
  const unsigned flush = (mode & kFlush) != 0 ? 0x8040u : 0u;
  _mm_setcsr(0x1f80u | static_cast<unsigned>(mode & 3) << 13 | flush);
  thread.float_mode = mode;
}

}  // namespace sluice::ptx
