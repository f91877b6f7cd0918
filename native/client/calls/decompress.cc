// Decompression in batches.
#include <algorithm>

#include "client/scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {
namespace {

constexpr size_t kMostItems = 2048;  // what fits into a frame

bool on_device(const Scope& scope, const void* pointer, size_t bytes) {
  const auto address = reinterpret_cast<CUdeviceptr>(pointer);
  const auto range = scope.session->memory.device_range(address);
  return range && bytes <= range->bytes - (address - range->base);
}

}  // namespace

CUresult cuMemBatchDecompressAsync(CUmemDecompressParams* params, size_t count, unsigned int flags,
                                   size_t* errorIndex, CUstream handle) {
  if (params == nullptr || count == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  uint32_t stream = 0;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.resolve(handle, &stream)) return error;
  if (CUresult error = scope.need_context()) return error;
  const auto& device = *scope.session->devices[static_cast<size_t>(scope.context->device)];
  const int algorithms = device.attributes[CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK];
  if (algorithms == 0) return CUDA_ERROR_NOT_SUPPORTED;
  for (size_t begin = 0; begin < count; begin += kMostItems) {
    const size_t items = std::min(kMostItems, count - begin);
    wire::DynamicFrame frame(generated::CallId::cuMemBatchDecompressAsync, wire::kSync);
    frame.arguments().put(stream);
    frame.arguments().put(static_cast<uint32_t>(items));
    for (size_t i = begin; i < begin + items; i++) {
      const CUmemDecompressParams& item = params[i];
      const bool good = (algorithms & item.algo) != 0 && on_device(scope, item.src, item.srcNumBytes) &&
                        on_device(scope, item.dst, item.dstNumBytes) &&
                        (item.dstActBytes == nullptr || on_device(scope, item.dstActBytes, sizeof(uint32_t)));
      if (!good) {
        if (errorIndex != nullptr) *errorIndex = i;
        return CUDA_ERROR_INVALID_VALUE;
      }
      frame.arguments().put(uint64_t{item.srcNumBytes});
      frame.arguments().put(uint64_t{item.dstNumBytes});
      frame.arguments().put(reinterpret_cast<uint64_t>(item.dstActBytes));
      frame.arguments().put(reinterpret_cast<uint64_t>(item.src));
      frame.arguments().put(reinterpret_cast<uint64_t>(item.dst));
      frame.arguments().put(static_cast<int32_t>(item.algo));
    }
    frame.complete();
    uint64_t failed = 0;
    Reply reply{&failed, sizeof failed};
    const CUresult result = scope.call_raw(frame.data(), frame.size(), &reply);
    if (result == CUDA_SUCCESS) continue;
    if (errorIndex != nullptr && reply.received == sizeof failed) *errorIndex = begin + failed;
    return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace sluice::client::calls
