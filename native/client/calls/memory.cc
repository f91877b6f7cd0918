// Device memory.
#include "client/scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

void remember(Scope& scope, CUdeviceptr address, size_t bytes) {
  scope.session->memory.add_device(
      {address, bytes, scope.context, nullptr, scope.session->next_id.fetch_add(1)});
}

}  // namespace

CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
  if (dptr == nullptr || bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.need_context()) return error;
  wire::SyncFrame<8> frame(CallId::cuMemAlloc_v2);
  frame.put(uint64_t{bytesize});
  wire::FixedReply<8> reply;
  if (CUresult error = scope.call(frame, reply)) return error;
  const CUdeviceptr address = reply.get<uint64_t>();
  if (!reply.complete()) return CUDA_ERROR_UNKNOWN;
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
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.need_context()) return error;
  wire::SyncFrame<20> frame(CallId::cuMemAllocPitch_v2);
  frame.put(uint64_t{WidthInBytes});
  frame.put(uint64_t{Height});
  frame.put(uint32_t{ElementSizeBytes});
  wire::FixedReply<16> reply;
  if (CUresult error = scope.call(frame, reply)) return error;
  const CUdeviceptr address = reply.get<uint64_t>();
  const size_t pitch = reply.get<uint64_t>();
  if (!reply.complete()) return CUDA_ERROR_UNKNOWN;
  remember(scope, address, pitch * Height);
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
  scope.context = range->context;
  if (CUresult error = scope.need_context()) return error;
  wire::AsyncFrame<8> frame(CallId::cuMemFree_v2);
  frame.put(uint64_t{dptr});
  return scope.post(frame);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  const auto range = scope.session->memory.device_range(dptr);
  if (!range) return CUDA_ERROR_NOT_FOUND;
  if (pbase != nullptr) *pbase = range->base;
  if (psize != nullptr) *psize = range->bytes;
  return CUDA_SUCCESS;
}

}  // namespace sluice::client::calls
