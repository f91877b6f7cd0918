// Memory operations in streams. All are sent as a batch; a single one is a batch of one.
#include <vector>

#include "client/scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

constexpr unsigned kMostOperations = 255;  // of a batch, as the reference manual says

// Address and width of the operation, or of no width for one that names no memory.
CUresult check(const Scope& scope, const CUstreamBatchMemOpParams& operation) {
  size_t width = 0;
  CUdeviceptr address = 0;
  switch (operation.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: {
      const unsigned flags = operation.waitValue.flags;
      if ((flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) return CUDA_ERROR_NOT_SUPPORTED;  // as the device says
      if (flags > CU_STREAM_WAIT_VALUE_NOR) return CUDA_ERROR_INVALID_VALUE;
      width = operation.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ? 4 : 8;
      address = operation.waitValue.address;
      break;
    }
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      if (operation.writeValue.flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)
        return CUDA_ERROR_INVALID_VALUE;
      width = operation.operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ? 4 : 8;
      address = operation.writeValue.address;
      break;
    case CU_STREAM_MEM_OP_BARRIER:
      return operation.memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU ? CUDA_SUCCESS
                                                                                : CUDA_ERROR_INVALID_VALUE;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (address == 0 || address % width != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto range = scope.session->memory.device_range(address);
  return range && width <= range->bytes - (address - range->base) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult wait_value(CUstream stream, CUstreamBatchMemOpType type, CUdeviceptr address, uint64_t value,
                    unsigned flags) {
  CUstreamBatchMemOpParams operation{};
  operation.waitValue = {type, address, value, flags, 0};
  return cuStreamBatchMemOp_v2(stream, 1, &operation, 0);
}

CUresult write_value(CUstream stream, CUstreamBatchMemOpType type, CUdeviceptr address, uint64_t value,
                     unsigned flags) {
  CUstreamBatchMemOpParams operation{};
  operation.writeValue = {type, address, value, flags, 0};
  return cuStreamBatchMemOp_v2(stream, 1, &operation, 0);
}

}  // namespace

CUresult cuStreamBatchMemOp_v2(CUstream handle, unsigned int count, CUstreamBatchMemOpParams* operations,
                               unsigned int flags) {
  if (flags != 0 || count > kMostOperations || (count > 0 && operations == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  uint32_t stream = 0;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.resolve(handle, &stream)) return error;
  if (CUresult error = scope.need_context()) return error;
  for (unsigned i = 0; i < count; i++) {
    if (CUresult error = check(scope, operations[i])) return error;
  }
  if (count == 0) return CUDA_SUCCESS;
  wire::DynamicFrame frame(CallId::cuStreamBatchMemOp_v2);
  frame.arguments().put(stream);
  frame.arguments().put(uint32_t{count});
  frame.arguments().bytes(operations, count * sizeof *operations);
  frame.complete();
  if (CUresult error = scope.post(frame)) return error;
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, unsigned int value, unsigned int flags) {
  return wait_value(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, addr, value, flags);
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, unsigned long long value,
                                unsigned int flags) {
  return wait_value(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, addr, value, flags);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, unsigned int value, unsigned int flags) {
  return write_value(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, addr, value, flags);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, unsigned long long value,
                                 unsigned int flags) {
  return write_value(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, addr, value, flags);
}

}  // namespace sluice::client::calls
