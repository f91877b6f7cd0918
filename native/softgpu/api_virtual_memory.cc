// The exported functions of virtual memory management.
#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/virtual_memory.h"

namespace sluice::softgpu {
namespace {

// Physical memory is of a device and stays in this process.
CUresult check_properties(const CUmemAllocationProp* properties) {
  if (properties == nullptr || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return CUDA_ERROR_INVALID_VALUE;
  if (properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
  switch (properties->location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return driver()->device(properties->location.id) == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                                         CUmemAllocationGranularity_flags option) {
  return api([&]() -> CUresult {
    if (granularity == nullptr || option < CU_MEM_ALLOC_GRANULARITY_MINIMUM ||
        option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    SLUICE_TRY(check_properties(properties));
    *granularity = kMappingGranularity;
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuMemAddressReserve(CUdeviceptr* out, size_t bytes, size_t alignment, CUdeviceptr wanted,
                               unsigned long long flags) {
  return api([&]() -> CUresult {
    if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    uint64_t address = 0;
    SLUICE_TRY(reserve_addresses(bytes, alignment, wanted, &address));
    *out = address;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return api([&] { return free_addresses(address, bytes); });
}

SLUICE_API cuMemCreate(CUmemGenericAllocationHandle* out, size_t bytes, const CUmemAllocationProp* properties,
                       unsigned long long flags) {
  return api([&]() -> CUresult {
    if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    SLUICE_TRY(check_properties(properties));
    return create_physical(*properties, bytes, out);
  });
}
SLUICE_API cuMemRelease(CUmemGenericAllocationHandle handle) {
  return api([&] { return release_physical(handle); });
}
SLUICE_API cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* out,
                                                  CUmemGenericAllocationHandle handle) {
  return api([&] { return out == nullptr ? CUDA_ERROR_INVALID_VALUE : physical_properties(handle, out); });
}
SLUICE_API cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* out, void* address) {
  return api([&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return retain_physical(reinterpret_cast<uint64_t>(address), out);
  });
}

SLUICE_API cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                    unsigned long long flags) {
  return api([&]() -> CUresult {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return map_physical(address, bytes, offset, handle);
  });
}
SLUICE_API cuMemUnmap(CUdeviceptr address, size_t bytes) {
  return api([&] { return unmap(address, bytes); });
}

SLUICE_API cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* descriptions,
                          size_t count) {
  return api([&]() -> CUresult {
    if (descriptions == nullptr || count == 0 || count > kMaxDevices) return CUDA_ERROR_INVALID_VALUE;
    return set_access(address, bytes, descriptions, count);
  });
}
SLUICE_API cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  return api([&]() -> CUresult {
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return get_access(address, *location, flags);
  });
}

namespace sluice::softgpu {

std::span<const Entry> virtual_memory_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuMemGetAllocationGranularity", 10020, cuMemGetAllocationGranularity),
      SLUICE_ENTRY("cuMemAddressReserve", 10020, cuMemAddressReserve),
      SLUICE_ENTRY("cuMemAddressFree", 10020, cuMemAddressFree),
      SLUICE_ENTRY("cuMemCreate", 10020, cuMemCreate),
      SLUICE_ENTRY("cuMemRelease", 10020, cuMemRelease),
      SLUICE_ENTRY("cuMemGetAllocationPropertiesFromHandle", 10020, cuMemGetAllocationPropertiesFromHandle),
      SLUICE_ENTRY("cuMemRetainAllocationHandle", 11000, cuMemRetainAllocationHandle),
      SLUICE_ENTRY("cuMemMap", 10020, cuMemMap),
      SLUICE_ENTRY("cuMemUnmap", 10020, cuMemUnmap),
      SLUICE_ENTRY("cuMemSetAccess", 10020, cuMemSetAccess),
      SLUICE_ENTRY("cuMemGetAccess", 10020, cuMemGetAccess),
  };
  return entries;
}

}  // namespace sluice::softgpu
