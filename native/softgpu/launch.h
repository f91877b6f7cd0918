// Launching kernels.
#pragma once

#include "softgpu/context.h"
#include "softgpu/module.h"
#include "softgpu/ptx/engine.h"

namespace sluice::softgpu {

// A function handle, or a kernel handle, which stands for its function in the current context.
CUresult find_function(CUfunction handle, Function** out);

// Blocks that fit on one multiprocessor at the same time; 0 when not even one does.
int active_blocks(const Function& function, int block_threads, size_t dynamic_shared_bytes);

struct Launch {
  ptx::Dim3 grid;
  ptx::Dim3 block;
  ptx::Dim3 cluster;
  unsigned dynamic_shared_bytes = 0;
  bool cooperative = false;
  CUstream stream = nullptr;
  CUevent completion_event = nullptr;
};

// Whether a launch of that shape is possible at all.
CUresult check_launch(const Function& function, const Launch& what);
// Copies the parameters, given in either form, into `out` as the kernel's layout has them; `out` has
// param_bytes.
CUresult pack_parameters(const Function& function, void** parameters, void** extra, std::span<std::byte> out);

// Checks the launch as the driver does, copies the parameters and queues it.
CUresult launch(CUfunction handle, const Launch& what, void** parameters, void** extra);

}  // namespace sluice::softgpu
