// Managed memory. What is said about it is remembered: nothing moves by it before it is used.
#include "client/scope.h"
#include "client/shared_memory.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {
namespace {

CUmemLocation location_of(CUdevice device) {
  if (device == CU_DEVICE_CPU) return {CU_MEM_LOCATION_TYPE_HOST, 0};
  return {CU_MEM_LOCATION_TYPE_DEVICE, device};
}

int device_count(const Scope& scope) { return static_cast<int>(scope.session->devices.size()); }

// Whether the range is managed memory from its first to its last byte.
CUresult check_managed(const Scope& scope, CUdeviceptr address, size_t bytes) {
  const auto range = scope.session->memory.device_range(address);
  const bool inside = range && range->managed && bytes > 0 && bytes <= range->bytes - (address - range->base);
  return inside ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult check_location(const Scope& scope, CUmemLocation location) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return scope.session->device(location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult begin(Scope& scope, CUstream handle) {
  Stream* stream = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(handle, &stream)) return error;
  return scope.need_context();
}

CUresult begin(Scope& scope) {
  if (CUresult error = scope.enter()) return error;
  return scope.need_context();
}

CUresult check_ranges(const Scope& scope, const CUdeviceptr* addresses, const size_t* sizes, size_t count,
                      unsigned long long flags) {
  if (addresses == nullptr || sizes == nullptr || count == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; i++) {
    if (CUresult error = check_managed(scope, addresses[i], sizes[i])) return error;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
  if (dptr == nullptr || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
    return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = begin(scope)) return error;
  if (bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  return allocate_managed(scope, bytesize, flags, dptr);
}

CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags) {
  Scope scope;
  if (CUresult error = begin(scope, hStream)) return error;
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
    return CUDA_ERROR_INVALID_VALUE;
  const auto range = scope.session->memory.device_range(dptr);
  if (!range || !range->managed || range->base != dptr || (length != 0 && length != range->bytes))
    return CUDA_ERROR_INVALID_VALUE;
  return Coherence::instance().attach(dptr, flags == CU_MEM_ATTACH_GLOBAL) ? CUDA_SUCCESS
                                                                           : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location) {
  Scope scope;
  if (CUresult error = begin(scope)) return error;
  if (CUresult error = check_managed(scope, devPtr, count)) return error;
  return Coherence::instance().advice().advise(devPtr, count, advice, location, device_count(scope));
}

CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device) {
  return cuMemAdvise_v2(devPtr, count, advice, location_of(device));
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
                               CUstream hStream) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = begin(scope, hStream)) return error;
  if (CUresult error = check_location(scope, location)) return error;
  if (CUresult error = check_managed(scope, devPtr, count)) return error;
  Coherence::instance().advice().prefetched(devPtr, count, location);
  return CUDA_SUCCESS;
}

CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream) {
  return cuMemPrefetchAsync_v2(devPtr, count, location_of(dstDevice), 0, hStream);
}

CUresult cuMemPrefetchBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count, CUmemLocation* prefetchLocs,
                                 size_t* prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
                                 CUstream hStream) {
  if (prefetchLocs == nullptr || prefetchLocIdxs == nullptr || numPrefetchLocs == 0 ||
      numPrefetchLocs > count || prefetchLocIdxs[0] != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Scope scope;
  if (CUresult error = begin(scope, hStream)) return error;
  if (CUresult error = check_ranges(scope, dptrs, sizes, count, flags)) return error;
  for (size_t i = 0; i < numPrefetchLocs; i++) {
    if (i > 0 && (prefetchLocIdxs[i] <= prefetchLocIdxs[i - 1] || prefetchLocIdxs[i] >= count))
      return CUDA_ERROR_INVALID_VALUE;
    if (CUresult error = check_location(scope, prefetchLocs[i])) return error;
  }
  size_t place = 0;
  for (size_t i = 0; i < count; i++) {
    if (place + 1 < numPrefetchLocs && prefetchLocIdxs[place + 1] == i) place++;
    Coherence::instance().advice().prefetched(dptrs[i], sizes[i], prefetchLocs[place]);
  }
  return CUDA_SUCCESS;
}

// What is discarded may be anything afterwards: it may stay what it was.
CUresult cuMemDiscardBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count, unsigned long long flags,
                                CUstream hStream) {
  Scope scope;
  if (CUresult error = begin(scope, hStream)) return error;
  return check_ranges(scope, dptrs, sizes, count, flags);
}

CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                           CUmemLocation* prefetchLocs, size_t* prefetchLocIdxs,
                                           size_t numPrefetchLocs, unsigned long long flags,
                                           CUstream hStream) {
  return cuMemPrefetchBatchAsync(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags,
                                 hStream);
}

CUresult cuMemRangeGetAttribute(void* data, size_t dataSize, CUmem_range_attribute attribute,
                                CUdeviceptr devPtr, size_t count) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = begin(scope)) return error;
  if (CUresult error = check_managed(scope, devPtr, count)) return error;
  return Coherence::instance().advice().attribute(data, dataSize, attribute, devPtr, count);
}

CUresult cuMemRangeGetAttributes(void** data, size_t* dataSizes, CUmem_range_attribute* attributes,
                                 size_t numAttributes, CUdeviceptr devPtr, size_t count) {
  if (data == nullptr || dataSizes == nullptr || attributes == nullptr || numAttributes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < numAttributes; i++) {
    if (CUresult error = cuMemRangeGetAttribute(data[i], dataSizes[i], attributes[i], devPtr, count))
      return error;
  }
  return CUDA_SUCCESS;
}

}  // namespace sluice::client::calls
