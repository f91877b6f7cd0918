// What there is: one device that says in its name that it does nothing, and its limits.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "generated/cuda_functions.h"
#include "noop_driver/answer.h"

namespace {

constexpr int kVersion = 13000;
constexpr size_t kMemory = size_t{64} << 30;

thread_local CUcontext current = nullptr;

int attribute(CUdevice_attribute id) {
  switch (id) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
      return 2147483647;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
      return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return 48 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return 227 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return 228 << 10;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
      return 64 << 10;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
      return 64 << 10;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return 1000000;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
      return 512;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 16;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return 10;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return 2048;
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
      return 1;
    default:
      return 0;
  }
}

CUresult uuid_of(CUuuid* uuid) {
  std::memcpy(uuid->bytes, "does nothing!!!", sizeof uuid->bytes);
  return CUDA_SUCCESS;
}

/// This library, however it was loaded: dlsym's default scope lacks one that was opened locally.
void* self() {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&uuid_of), &info);
  return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

}  // namespace

NOOP_EXPORT CUresult cuDriverGetVersion(int* version) {
  *version = kVersion;
  return CUDA_SUCCESS;
}

NOOP_EXPORT CUresult cuGetErrorName(CUresult, const char** text) {
  *text = "CUDA_ERROR";
  return CUDA_SUCCESS;
}

NOOP_EXPORT CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "the driver that does nothing has no errors";
  return CUDA_SUCCESS;
}

NOOP_EXPORT CUresult cuGetExportTable(const void**, const CUuuid*) { return CUDA_ERROR_NOT_FOUND; }

// The newest form of a function carries the greatest suffix.
NOOP_EXPORT CUresult cuGetProcAddress_v2(const char* name, void** function, int, unsigned long long,
                                         CUdriverProcAddressQueryResult* status) {
  static void* const library = self();
  *function = nullptr;
  for (const char* suffix : {"_v4", "_v3", "_v2", ""}) {
    char symbol[128];
    std::snprintf(symbol, sizeof symbol, "%s%s", name, suffix);
    *function = dlsym(library, symbol);
    if (*function != nullptr) break;
  }
  const bool found = *function != nullptr;
  if (status != nullptr) *status = found ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return CUDA_SUCCESS;
}

NOOP_EXPORT CUresult cuGetProcAddress(const char* name, void** function, int version,
                                      unsigned long long flags) {
  const CUresult result = cuGetProcAddress_v2(name, function, version, flags, nullptr);
  return *function == nullptr ? CUDA_ERROR_NOT_FOUND : result;
}

NOOP_EXPORT CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}

NOOP_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
  *device = 0;
  return CUDA_SUCCESS;
}

NOOP_EXPORT CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::snprintf(name, static_cast<size_t>(length), "Sluice benchmark driver (does nothing)");
  return CUDA_SUCCESS;
}

NOOP_EXPORT CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice) { return uuid_of(uuid); }
NOOP_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice) { return uuid_of(uuid); }

NOOP_EXPORT CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice) {
  std::snprintf(text, static_cast<size_t>(length), "0000:01:00.0");
  return CUDA_SUCCESS;
}

NOOP_EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) {
  *bytes = kMemory;
  return CUDA_SUCCESS;
}

NOOP_EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  *free = *total = kMemory;
  return CUDA_SUCCESS;
}

NOOP_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute id, CUdevice) {
  *value = attribute(id);
  return CUDA_SUCCESS;
}

NOOP_EXPORT CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice) {
  *major = 10;
  *minor = 0;
  return CUDA_SUCCESS;
}

NOOP_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  static const auto primary = static_cast<CUcontext>(sluice::noop::next_handle());
  *context = primary;
  return CUDA_SUCCESS;
}

NOOP_EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}

NOOP_EXPORT CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = current;
  return CUDA_SUCCESS;
}

NOOP_EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice) {
  static const auto first = static_cast<CUmemoryPool>(sluice::noop::next_handle());
  *pool = first;
  return CUDA_SUCCESS;
}
NOOP_EXPORT CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return cuDeviceGetDefaultMemPool(pool, device);
}
