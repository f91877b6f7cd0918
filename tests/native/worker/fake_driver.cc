// A CUDA driver with two devices of 4 GiB whose UUIDs end in 01 and 02, and no functions beyond what
// a session asks for at its start. FAKE_DRIVER_BROKEN=crash or =fail makes its cuInit do so.
#include <cstdlib>
#include <cstring>

#include "common/cuda_types.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT CUresult cuInit(unsigned) {
  const char* broken = std::getenv("FAKE_DRIVER_BROKEN");
  if (broken && std::strcmp(broken, "crash") == 0) std::abort();
  return broken ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

EXPORT CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetCount(int* count) {
  *count = 2;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  std::memset(uuid->bytes, 0, sizeof uuid->bytes);
  uuid->bytes[15] = static_cast<char>(device + 1);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) {
  *bytes = size_t{4} << 30;
  return CUDA_SUCCESS;
}

// The loader takes a library without these for no driver; no test calls them.
EXPORT CUresult cuCtxSetCurrent(CUcontext) { return CUDA_ERROR_NOT_SUPPORTED; }
EXPORT CUresult cuMemAlloc_v2(CUdeviceptr*, size_t) { return CUDA_ERROR_NOT_SUPPORTED; }
EXPORT CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                               unsigned, CUstream, void**, void**) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
