// Device memory.
#include <algorithm>
#include <cstdint>

#include "client/allocate_apart.h"
#include "client/captures.h"
#include "client/scope.h"
#include "client/shared_memory.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

void remember(Scope& scope, CUdeviceptr address, size_t bytes) {
  scope.session->memory.add_device(
      {address, bytes, scope.context, nullptr, scope.session->next_id.fetch_add(1)});
}

CUresult free_there(Scope& scope, CUdeviceptr address) {
  wire::AsyncFrame<8> frame(CallId::cuMemFree_v2);
  frame.put(uint64_t{address});
  return scope.post(frame);
}

}  // namespace

CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
  if (dptr == nullptr || bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  if (capture_forbids()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.need_context()) return error;
  const auto allocate = [&](CUdeviceptr* address, size_t* bytes) -> CUresult {
    wire::SyncFrame<8> frame(CallId::cuMemAlloc_v2);
    frame.put(uint64_t{*bytes});
    wire::FixedReply<8> reply;
    if (CUresult error = scope.call(frame, reply)) return error;
    *address = reply.get<uint64_t>();
    return reply.complete() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
  };
  CUdeviceptr address = 0;
  if (CUresult error = allocate_apart(scope, &address, &bytesize, allocate,
                                      [&](CUdeviceptr unused) { free_there(scope, unused); })) {
    return error;
  }
  remember(scope, address, bytesize);
  *dptr = address;
  return CUDA_SUCCESS;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes, size_t Height,
                            unsigned int ElementSizeBytes) {
  if (dptr == nullptr || pPitch == nullptr || WidthInBytes == 0 || Height == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16)
    return CUDA_ERROR_INVALID_VALUE;
  if (capture_forbids()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.need_context()) return error;
  size_t pitch = 0;
  const auto allocate = [&](CUdeviceptr* address, size_t* bytes) -> CUresult {
    wire::SyncFrame<20> frame(CallId::cuMemAllocPitch_v2);
    frame.put(uint64_t{WidthInBytes});
    frame.put(uint64_t{Height});
    frame.put(uint32_t{ElementSizeBytes});
    wire::FixedReply<16> reply;
    if (CUresult error = scope.call(frame, reply)) return error;
    *address = reply.get<uint64_t>();
    pitch = reply.get<uint64_t>();
    *bytes = pitch * Height;
    return reply.complete() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
  };
  CUdeviceptr address = 0;
  size_t bytes = 0;
  if (CUresult error = allocate_apart(scope, &address, &bytes, allocate,
                                      [&](CUdeviceptr unused) { free_there(scope, unused); })) {
    return error;
  }
  remember(scope, address, bytes);
  *dptr = address;
  *pPitch = pitch;
  return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr dptr) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (dptr == 0) return CUDA_SUCCESS;
  const auto range = scope.session->memory.remove_device(dptr);
  if (!range) return CUDA_ERROR_INVALID_VALUE;
  if (range->managed) forget_managed(*range);
  scope.context = range->context;
  if (CUresult error = scope.need_context()) return error;
  return free_there(scope, dptr);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  auto range = scope.session->memory.device_range(dptr);
  if (!range) return CUDA_ERROR_NOT_FOUND;
  if (range->mapped) {
    const auto mapping = scope.session->virtual_memory.mapping_of(dptr);
    if (!mapping) return CUDA_ERROR_NOT_FOUND;
    range->base = mapping->base;
    range->bytes = mapping->bytes;
  }
  if (pbase != nullptr) *pbase = range->base;
  if (psize != nullptr) *psize = range->bytes;
  return CUDA_SUCCESS;
}

// The forms of CUDA 2 give sizes in 32 bits; what is more is told as the most that they can say.
CUresult cuMemGetInfo(unsigned int* free_bytes, unsigned int* total_bytes) {
  size_t free_there = 0;
  size_t total = 0;
  if (CUresult error = cuMemGetInfo_v2(&free_there, &total)) return error;
  if (free_bytes != nullptr) *free_bytes = static_cast<unsigned>(std::min<size_t>(free_there, UINT32_MAX));
  if (total_bytes != nullptr) *total_bytes = static_cast<unsigned>(std::min<size_t>(total, UINT32_MAX));
  return CUDA_SUCCESS;
}

CUresult cuMemAllocHost(void** pp, unsigned int bytesize) { return cuMemAllocHost_v2(pp, bytesize); }

}  // namespace sluice::client::calls
