// The shape of a launch and the parameters of a kernel, checked and packed.
#pragma once

#include <cstring>

#include "client/scope.h"

namespace sluice::client {

constexpr uint32_t kMostDynamicMemory = 1u
                                        << 30;  // nonsense is refused here; the exact limit is the worker's
struct LaunchShape {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
};

inline CUresult check_shape(const Scope& scope, const Function& function, const LaunchShape& shape) {
  const auto& limits = scope.session->devices[static_cast<size_t>(scope.context->device)]->attributes;
  uint64_t threads = 1;
  for (size_t i = 0; i < 3; i++) {
    if (shape.grid[i] == 0 || shape.block[i] == 0) return CUDA_ERROR_INVALID_VALUE;
    if (shape.grid[i] > static_cast<unsigned>(limits[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i]))
      return CUDA_ERROR_INVALID_VALUE;
    if (shape.block[i] > static_cast<unsigned>(limits[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i]))
      return CUDA_ERROR_INVALID_VALUE;
    threads *= shape.block[i];
  }
  if (threads > static_cast<uint64_t>(limits[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK]))
    return CUDA_ERROR_INVALID_VALUE;
  if (shape.shared_bytes > kMostDynamicMemory) return CUDA_ERROR_INVALID_VALUE;
  if (!function.info->has_layout) return CUDA_SUCCESS;
  const int most_threads =
      function.attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK].load(std::memory_order_relaxed);
  if (most_threads > 0 && threads > static_cast<uint64_t>(most_threads))
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  const int most_shared =
      function.attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES].load(std::memory_order_relaxed);
  return shape.shared_bytes > static_cast<unsigned>(most_shared) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// Where the packed parameters come from.
struct KernelParameters {
  void** each = nullptr;         // one address per parameter
  const void* packed = nullptr;  // or all of them in one buffer
  size_t bytes = 0;
};

inline CUresult find_parameters(const Function& function, void** kernel_params, void** extra,
                                KernelParameters* out) {
  if (kernel_params != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (extra != nullptr) {
    const size_t* size = nullptr;
    for (void** at = extra; *at != CU_LAUNCH_PARAM_END; at += 2) {
      if (at[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
        out->packed = at[1];
      } else if (at[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
        size = static_cast<const size_t*>(at[1]);
      } else {
        return CUDA_ERROR_INVALID_VALUE;
      }
    }
    if (out->packed == nullptr || size == nullptr || *size > wire::kMaxArguments / 2)
      return CUDA_ERROR_INVALID_VALUE;
    out->bytes = *size;
    return CUDA_SUCCESS;
  }
  if (!function.info->has_layout) return CUDA_ERROR_NOT_SUPPORTED;  // a worker's driver before CUDA 12.4
  out->each = kernel_params;
  out->bytes = function.info->parameter_bytes;
  return out->bytes > 0 && kernel_params == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

inline void pack(const KernelInfo& info, const KernelParameters& parameters, uint8_t* into) {
  if (parameters.packed != nullptr) {
    std::memcpy(into, parameters.packed, parameters.bytes);
    return;
  }
  for (size_t i = 0; i < info.parameters.size(); i++) {
    std::memcpy(into + info.parameters[i].offset, parameters.each[i], info.parameters[i].size);
  }
}

}  // namespace sluice::client
