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

// Checks the launch as the driver does, copies the parameters and queues it.
CUresult launch(CUfunction handle, const Launch& what, void** parameters, void** extra);

}  // namespace sluice::softgpu
