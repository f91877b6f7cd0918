// The launch interface before CUDA 4, on top of cuLaunchKernel.
#include <cstring>

#include "client/scope.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {
namespace {

constexpr size_t kMostParameterBytes = 4096;  // of that interface

// The function's state, under its lock.
template <typename Change>
CUresult change(CUfunction handle, Change&& apply) {
  Scope scope;
  Function* function = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(handle, &function)) return error;
  const std::lock_guard lock(function->mutex);
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

}  // namespace

CUresult cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z) {
  if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
  return change(hfunc, [&](OldLaunch& state) {
    state.block[0] = static_cast<unsigned>(x);
    state.block[1] = static_cast<unsigned>(y);
    state.block[2] = static_cast<unsigned>(z);
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes) {
  return change(hfunc, [&](OldLaunch& state) {
    state.shared_bytes = bytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuParamSetSize(CUfunction hfunc, unsigned int numbytes) {
  if (numbytes > kMostParameterBytes) return CUDA_ERROR_INVALID_VALUE;
  return change(hfunc, [&](OldLaunch& state) {
    state.parameter_bytes = numbytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuParamSeti(CUfunction hfunc, int offset, unsigned int value) {
  return put(hfunc, offset, &value, sizeof value);
}

CUresult cuParamSetf(CUfunction hfunc, int offset, float value) {
  return put(hfunc, offset, &value, sizeof value);
}

CUresult cuParamSetv(CUfunction hfunc, int offset, void* ptr, unsigned int numbytes) {
  return put(hfunc, offset, ptr, numbytes);
}

// A texture that is bound to a reference of the module is seen by all its functions without this.
CUresult cuParamSetTexRef(CUfunction hfunc, int texunit, CUtexref hTexRef) {
  if (texunit != CU_PARAM_TR_DEFAULT || hTexRef == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return change(hfunc, [](OldLaunch&) { return CUDA_SUCCESS; });
}

CUresult cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream) {
  if (grid_width <= 0 || grid_height <= 0) return CUDA_ERROR_INVALID_VALUE;
  OldLaunch state;
  const auto copy_state = [&state](const OldLaunch& kept) {
    state = kept;
    return CUDA_SUCCESS;
  };
  if (CUresult error = change(f, copy_state)) return error;
  state.parameters.resize(state.parameter_bytes);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, state.parameters.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &state.parameter_bytes, CU_LAUNCH_PARAM_END};
  return cuLaunchKernel(f, static_cast<unsigned>(grid_width), static_cast<unsigned>(grid_height), 1,
                        state.block[0], state.block[1], state.block[2], state.shared_bytes, hStream, nullptr,
                        state.parameter_bytes == 0 ? nullptr : extra);
}

CUresult cuLaunchGrid(CUfunction f, int grid_width, int grid_height) {
  return cuLaunchGridAsync(f, grid_width, grid_height, nullptr);
}

CUresult cuLaunch(CUfunction f) { return cuLaunchGrid(f, 1, 1); }

// The blocks of all devices would have to reach each other's memory, which cuDeviceCanAccessPeer denies and
// CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH says. On one device it is an ordinary cooperative
// launch.
CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* launches, unsigned int count,
                                              unsigned int flags) {
  constexpr unsigned kKnownFlags = 3;  // synchronize neither before nor after
  if (launches == nullptr || count == 0 || flags > kKnownFlags) return CUDA_ERROR_INVALID_VALUE;
  if (count > 1) return CUDA_ERROR_NOT_SUPPORTED;
  const CUDA_LAUNCH_PARAMS& launch = launches[0];
  if (launch.hStream == nullptr || launch.hStream == CU_STREAM_LEGACY) return CUDA_ERROR_INVALID_VALUE;
  return cuLaunchCooperativeKernel(launch.function, launch.gridDimX, launch.gridDimY, launch.gridDimZ,
                                   launch.blockDimX, launch.blockDimY, launch.blockDimZ,
                                   launch.sharedMemBytes, launch.hStream, launch.kernelParams);
}

}  // namespace sluice::client::calls
