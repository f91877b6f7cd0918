// Managed memory. The host reads and writes device addresses as they are, so nothing migrates: advice and
// prefetches are checked and remembered.
#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/device.h"
#include "softgpu/managed.h"
#include "softgpu/memory.h"

namespace sluice::softgpu {
namespace {

CUmemLocation location_of(CUdevice device) {
  if (device == CU_DEVICE_CPU) return {CU_MEM_LOCATION_TYPE_HOST, 0};
  return {CU_MEM_LOCATION_TYPE_DEVICE, device};
}

int device_count() { return static_cast<int>(driver()->devices.size()); }

// Whether the range is managed memory from its first to its last byte.
CUresult check_managed(CUdeviceptr address, size_t bytes) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto found = memory_registry().find(address);
  const bool inside = found && found->kind == MemoryKind::kManaged && bytes <= found->end() - address;
  return inside ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult advise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  SLUICE_TRY(check_managed(address, bytes));
  return managed_advice().advise(address, bytes, advice, location, device_count());
}

CUresult check_location(CUmemLocation location) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return location.id >= 0 && location.id < device_count() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult check_stream(CUstream stream) {
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  std::shared_ptr<Stream> queue;
  return context->resolve_stream(stream, &queue);
}

CUresult prefetch(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags,
                  CUstream stream) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  SLUICE_TRY(check_stream(stream));
  SLUICE_TRY(check_location(location));
  SLUICE_TRY(check_managed(address, bytes));
  managed_advice().prefetched(address, bytes, location);
  return CUDA_SUCCESS;
}

CUresult check_ranges(const CUdeviceptr* addresses, const size_t* sizes, size_t count, uint64_t flags,
                      CUstream stream) {
  if (addresses == nullptr || sizes == nullptr || count == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  SLUICE_TRY(check_stream(stream));
  for (size_t i = 0; i < count; ++i) SLUICE_TRY(check_managed(addresses[i], sizes[i]));
  return CUDA_SUCCESS;
}

CUresult prefetch_batch(const CUdeviceptr* addresses, const size_t* sizes, size_t count,
                        const CUmemLocation* locations, const size_t* first, size_t location_count,
                        uint64_t flags, CUstream stream) {
  if (locations == nullptr || first == nullptr || location_count == 0 || location_count > count ||
      first[0] != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  SLUICE_TRY(check_ranges(addresses, sizes, count, flags, stream));
  for (size_t i = 0; i < location_count; ++i) {
    if (i > 0 && (first[i] <= first[i - 1] || first[i] >= count)) return CUDA_ERROR_INVALID_VALUE;
    SLUICE_TRY(check_location(locations[i]));
  }
  size_t place = 0;
  for (size_t i = 0; i < count; ++i) {
    if (place + 1 < location_count && first[place + 1] == i) ++place;
    managed_advice().prefetched(addresses[i], sizes[i], locations[place]);
  }
  return CUDA_SUCCESS;
}

CUresult attach(CUstream stream, CUdeviceptr address, size_t bytes, unsigned flags) {
  SLUICE_TRY(check_stream(stream));
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
    return CUDA_ERROR_INVALID_VALUE;
  const auto found = memory_registry().find(address);
  if (!found || found->kind != MemoryKind::kManaged || found->begin != address)
    return CUDA_ERROR_INVALID_VALUE;
  return bytes == 0 || bytes == found->bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult range_attribute(void* data, size_t data_bytes, CUmem_range_attribute attribute, CUdeviceptr address,
                         size_t bytes) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SLUICE_TRY(check_managed(address, bytes));
  return managed_advice().attribute(data, data_bytes, attribute, address, bytes);
}

CUresult allocate(CUdeviceptr* out, size_t bytes, unsigned flags) {
  if (out == nullptr || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
    return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  uint64_t address = 0;
  SLUICE_TRY(allocate_device(*context, bytes, MemoryKind::kManaged, flags, nullptr, false, &address));
  *out = address;
  return CUDA_SUCCESS;
}

}  // namespace

ManagedAdvice& managed_advice() {
  static auto* instance = new ManagedAdvice;
  return *instance;
}

}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned flags) {
  return api([&] { return allocate(out, bytes, flags); });
}

SLUICE_API cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device) {
  return api([&] { return advise(address, bytes, advice, location_of(device)); });
}
SLUICE_API cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  return api([&] { return advise(address, bytes, advice, location); });
}

SLUICE_API_PAIR(cuMemPrefetchAsync, _ptsz,
                (CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream),
                return prefetch(address, bytes, location_of(device), 0, pick(stream));)
SLUICE_API_PAIR(cuMemPrefetchAsync_v2, _ptsz,
                (CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags, CUstream stream),
                return prefetch(address, bytes, location, flags, pick(stream));)
SLUICE_API_PAIR(cuMemPrefetchBatchAsync, _ptsz,
                (CUdeviceptr * addresses, size_t* sizes, size_t count, CUmemLocation* locations,
                 size_t* first, size_t location_count, unsigned long long flags, CUstream stream),
                return prefetch_batch(addresses, sizes, count, locations, first, location_count, flags,
                                      pick(stream));)
// What is discarded may be anything afterwards: it may stay what it was.
SLUICE_API_PAIR(cuMemDiscardBatchAsync, _ptsz,
                (CUdeviceptr * addresses, size_t* sizes, size_t count, unsigned long long flags,
                 CUstream stream),
                return check_ranges(addresses, sizes, count, flags, pick(stream));)
SLUICE_API_PAIR(cuMemDiscardAndPrefetchBatchAsync, _ptsz,
                (CUdeviceptr * addresses, size_t* sizes, size_t count, CUmemLocation* locations,
                 size_t* first, size_t location_count, unsigned long long flags, CUstream stream),
                return prefetch_batch(addresses, sizes, count, locations, first, location_count, flags,
                                      pick(stream));)

SLUICE_API_PAIR(cuStreamAttachMemAsync, _ptsz,
                (CUstream stream, CUdeviceptr address, size_t bytes, unsigned flags),
                return attach(pick(stream), address, bytes, flags);)

SLUICE_API cuMemRangeGetAttribute(void* data, size_t data_bytes, CUmem_range_attribute attribute,
                                  CUdeviceptr address, size_t bytes) {
  return api([&] { return range_attribute(data, data_bytes, attribute, address, bytes); });
}
SLUICE_API cuMemRangeGetAttributes(void** data, size_t* data_bytes, CUmem_range_attribute* attributes,
                                   size_t count, CUdeviceptr address, size_t bytes) {
  return api([&]() -> CUresult {
    if (data == nullptr || data_bytes == nullptr || attributes == nullptr || count == 0)
      return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i)
      SLUICE_TRY(range_attribute(data[i], data_bytes[i], attributes[i], address, bytes));
    return CUDA_SUCCESS;
  });
}

namespace sluice::softgpu {

std::span<const Entry> managed_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuMemAllocManaged", 6000, cuMemAllocManaged),
      SLUICE_ENTRY_PAIR("cuStreamAttachMemAsync", 6000, cuStreamAttachMemAsync, _ptsz),
      SLUICE_ENTRY("cuMemAdvise", 8000, cuMemAdvise),
      SLUICE_ENTRY("cuMemAdvise", 12020, cuMemAdvise_v2),
      SLUICE_ENTRY_PAIR("cuMemPrefetchAsync", 8000, cuMemPrefetchAsync, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemPrefetchAsync", 12020, cuMemPrefetchAsync_v2, _ptsz),
      SLUICE_ENTRY("cuMemRangeGetAttribute", 8000, cuMemRangeGetAttribute),
      SLUICE_ENTRY("cuMemRangeGetAttributes", 8000, cuMemRangeGetAttributes),
      SLUICE_ENTRY_PAIR("cuMemPrefetchBatchAsync", 13000, cuMemPrefetchBatchAsync, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemDiscardBatchAsync", 13000, cuMemDiscardBatchAsync, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemDiscardAndPrefetchBatchAsync", 13000, cuMemDiscardAndPrefetchBatchAsync, _ptsz),
  };
  return entries;
}

}  // namespace sluice::softgpu
