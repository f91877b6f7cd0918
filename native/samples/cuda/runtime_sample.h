// Runtime API helpers of the samples.
#pragma once

#include <cuda_runtime.h>

#include "common/sample.h"

namespace samples {

/// Ends the program with CUDA's name and text of the error when `result` is one.
inline void check_result(const Options& options, cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  fail(options, "%s failed: %s (%d): %s", call, cudaGetErrorName(result), static_cast<int>(result),
       cudaGetErrorString(result));
}

#define CHECK(call) ::samples::check_result(options, call, #call)

/// Makes the device current and prints "<program>: GPU n, <name>".
inline void use_device(const Options& options) {
  cudaDeviceProp properties;
  CHECK(cudaSetDevice(options.device));
  CHECK(cudaGetDeviceProperties(&properties, options.device));
  std::printf("%s: GPU %d, %s\n", options.program, options.device, properties.name);
}

}  // namespace samples
