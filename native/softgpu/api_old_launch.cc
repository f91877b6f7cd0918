// The launch interface before CUDA 4: shape and parameters are kept with the function until it is launched.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "softgpu/api.h"
#include "softgpu/launch.h"

namespace sluice::softgpu {
namespace {

constexpr size_t kMostParameterBytes = 4096;

template <typename Change>
CUresult change(CUfunction handle, Change&& apply) {
  Function* function;
  SLUICE_TRY(find_function(handle, &function));
  const std::lock_guard lock(function->old_launch.mutex);
  return apply(function->old_launch);
}

CUresult put(CUfunction handle, int offset, const void* data, size_t bytes) {
  if (offset < 0 || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto at = static_cast<size_t>(offset);
  if (at > kMostParameterBytes || bytes > kMostParameterBytes - at) return CUDA_ERROR_INVALID_VALUE;
  return change(handle, [&](OldLaunch& state) {
    if (state.parameters.size() < at + bytes) state.parameters.resize(at + bytes);
    std::memcpy(state.parameters.data() + at, data, bytes);
    return CUDA_SUCCESS;
  });
}

CUresult launch_grid(CUfunction handle, int width, int height, CUstream stream) {
  if (width <= 0 || height <= 0) return CUDA_ERROR_INVALID_VALUE;
  Launch what;
  std::vector<char> parameters;
  SLUICE_TRY(change(handle, [&](OldLaunch& state) {
    what.block = state.block;
    what.dynamic_shared_bytes = state.shared_bytes;
    std::vector<char> padded(state.parameter_bytes);
    std::copy_n(state.parameters.begin(), std::min(state.parameters.size(), padded.size()), padded.begin());
    parameters = std::move(padded);
    return CUDA_SUCCESS;
  }));
  what.grid = {static_cast<uint32_t>(width), static_cast<uint32_t>(height), 1};
  what.stream = stream;
  size_t bytes = parameters.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, parameters.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  return launch(handle, what, nullptr, bytes == 0 ? nullptr : extra);
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuFuncSetBlockShape(CUfunction function, int x, int y, int z) {
  return api([&]() -> CUresult {
    if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
    return change(function, [&](OldLaunch& state) {
      state.block = {static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(z)};
      return CUDA_SUCCESS;
    });
  });
}
SLUICE_API cuFuncSetSharedSize(CUfunction function, unsigned bytes) {
  return api([&] {
    return change(function, [&](OldLaunch& state) {
      state.shared_bytes = bytes;
      return CUDA_SUCCESS;
    });
  });
}
SLUICE_API cuParamSetSize(CUfunction function, unsigned bytes) {
  return api([&]() -> CUresult {
    if (bytes > kMostParameterBytes) return CUDA_ERROR_INVALID_VALUE;
    return change(function, [&](OldLaunch& state) {
      state.parameter_bytes = bytes;
      return CUDA_SUCCESS;
    });
  });
}
SLUICE_API cuParamSeti(CUfunction function, int offset, unsigned value) {
  return api([&] { return put(function, offset, &value, sizeof(value)); });
}
SLUICE_API cuParamSetf(CUfunction function, int offset, float value) {
  return api([&] { return put(function, offset, &value, sizeof(value)); });
}
SLUICE_API cuParamSetv(CUfunction function, int offset, void* data, unsigned bytes) {
  return api([&] { return put(function, offset, data, bytes); });
}
// A texture that is bound to a reference of the module is seen by all its functions without this.
SLUICE_API cuParamSetTexRef(CUfunction function, int unit, CUtexref reference) {
  return api([&]() -> CUresult {
    if (unit != CU_PARAM_TR_DEFAULT || reference == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return change(function, [](OldLaunch&) { return CUDA_SUCCESS; });
  });
}
SLUICE_API cuLaunch(CUfunction function) {
  return api([&] { return launch_grid(function, 1, 1, nullptr); });
}
SLUICE_API cuLaunchGrid(CUfunction function, int width, int height) {
  return api([&] { return launch_grid(function, width, height, nullptr); });
}
SLUICE_API cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream) {
  return api([&] { return launch_grid(function, width, height, stream); });
}

// On several devices it would need barriers across them, which this driver does not have and
// CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH says.
SLUICE_API cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* launches, unsigned count,
                                                unsigned flags) {
  return api([&]() -> CUresult {
    constexpr unsigned kKnownFlags = 3;  // synchronize neither before nor after
    if (launches == nullptr || count == 0 || flags > kKnownFlags) return CUDA_ERROR_INVALID_VALUE;
    if (count > 1) return CUDA_ERROR_NOT_SUPPORTED;
    const CUDA_LAUNCH_PARAMS& given = launches[0];
    if (given.hStream == nullptr || given.hStream == CU_STREAM_LEGACY) return CUDA_ERROR_INVALID_VALUE;
    Launch what;
    what.grid = {given.gridDimX, given.gridDimY, given.gridDimZ};
    what.block = {given.blockDimX, given.blockDimY, given.blockDimZ};
    what.dynamic_shared_bytes = given.sharedMemBytes;
    what.cooperative = true;
    what.stream = given.hStream;
    return launch(given.function, what, given.kernelParams, nullptr);
  });
}

namespace sluice::softgpu {

std::span<const Entry> old_launch_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuFuncSetBlockShape", 2000, cuFuncSetBlockShape),
      SLUICE_ENTRY("cuFuncSetSharedSize", 2000, cuFuncSetSharedSize),
      SLUICE_ENTRY("cuParamSetSize", 2000, cuParamSetSize),
      SLUICE_ENTRY("cuParamSeti", 2000, cuParamSeti),
      SLUICE_ENTRY("cuParamSetf", 2000, cuParamSetf),
      SLUICE_ENTRY("cuParamSetv", 2000, cuParamSetv),
      SLUICE_ENTRY("cuParamSetTexRef", 2000, cuParamSetTexRef),
      SLUICE_ENTRY("cuLaunch", 2000, cuLaunch),
      SLUICE_ENTRY("cuLaunchGrid", 2000, cuLaunchGrid),
      SLUICE_ENTRY("cuLaunchGridAsync", 2000, cuLaunchGridAsync),
      SLUICE_ENTRY("cuLaunchCooperativeKernelMultiDevice", 9000, cuLaunchCooperativeKernelMultiDevice),
  };
  return entries;
}

}  // namespace sluice::softgpu
