// Memory operations in streams, stream attributes, and decompression in batches.
#include <cstring>
#include <vector>

#include "worker/calls/session.h"

namespace sluice::worker::calls {
namespace {

constexpr uint32_t kMostOperations = 255;
constexpr uint32_t kMostItems = 2048;

bool is_wait(CUstreamBatchMemOpType type) {
  return type == CU_STREAM_MEM_OP_WAIT_VALUE_32 || type == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

// Operations whose layout this worker knows. The driver checks the addresses.
bool is_known(CUstreamBatchMemOpType type) {
  return is_wait(type) || type == CU_STREAM_MEM_OP_WRITE_VALUE_32 ||
         type == CU_STREAM_MEM_OP_WRITE_VALUE_64 || type == CU_STREAM_MEM_OP_BARRIER;
}

}  // namespace

void cuStreamBatchMemOp_v2(Session& session, Request& request) {
  wire::Reader& args = request.args;
  const auto stream_index = args.get<uint32_t>();
  const uint32_t count = args.count(kMostOperations, sizeof(CUstreamBatchMemOpParams));
  std::vector<CUstreamBatchMemOpParams> operations(count);
  bool waits = false;
  for (CUstreamBatchMemOpParams& operation : operations) {
    if (const uint8_t* bytes = args.bytes(sizeof operation)) std::memcpy(&operation, bytes, sizeof operation);
    if (!is_known(operation.operation)) args.fail();
    waits = waits || is_wait(operation.operation);
  }
  if (!args.finished()) return session.bad_frame(request);
  CUstream stream = nullptr;
  if (!session.find(stream_index, &stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (session.driver.cuStreamBatchMemOp_v2 == nullptr)
    return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  const CUresult result = session.driver.cuStreamBatchMemOp_v2(stream, count, operations.data(), 0);
  if (result == CUDA_SUCCESS && waits) session.stream_waits.added(session.current_context(), stream);
  session.finish(request, result);
}

void cuStreamSetAttribute(Session& session, Request& request) {
  const auto stream_index = request.args.get<uint32_t>();
  const auto attribute = static_cast<CUlaunchAttributeID>(request.args.get<int32_t>());
  CUlaunchAttributeValue value{};
  if (const uint8_t* bytes = request.args.bytes(sizeof value)) std::memcpy(&value, bytes, sizeof value);
  if (!request.args.finished()) return session.bad_frame(request);
  CUstream stream = nullptr;
  if (!session.find(stream_index, &stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (session.driver.cuStreamSetAttribute == nullptr)
    return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  session.finish(request, session.driver.cuStreamSetAttribute(stream, attribute, &value));
}

void cuMemBatchDecompressAsync(Session& session, Request& request) {
  wire::Reader& args = request.args;
  const auto stream_index = args.get<uint32_t>();
  const uint32_t count = args.count(kMostItems, 5 * sizeof(uint64_t) + sizeof(int32_t));
  std::vector<CUmemDecompressParams> items(count);
  for (CUmemDecompressParams& item : items) {
    item.srcNumBytes = args.get<uint64_t>();
    item.dstNumBytes = args.get<uint64_t>();
    item.dstActBytes = reinterpret_cast<uint32_t*>(args.get<uint64_t>());
    item.src = reinterpret_cast<const void*>(args.get<uint64_t>());
    item.dst = reinterpret_cast<void*>(args.get<uint64_t>());
    item.algo = static_cast<CUmemDecompressAlgorithm>(args.get<int32_t>());
  }
  if (!args.finished()) return session.bad_frame(request);
  CUstream stream = nullptr;
  if (!session.find(stream_index, &stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (session.driver.cuMemBatchDecompressAsync == nullptr)
    return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  // An address of this process is none of a GPU's for a driver that could tell; it is not asked.
  const auto on_device = [&session](const void* pointer) {
    unsigned type = 0;
    return session.driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                reinterpret_cast<CUdeviceptr>(pointer)) == CUDA_SUCCESS &&
           type == CU_MEMORYTYPE_DEVICE;
  };
  for (const CUmemDecompressParams& item : items) {
    if (!on_device(item.src) || !on_device(item.dst) ||
        (item.dstActBytes != nullptr && !on_device(item.dstActBytes)))
      return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  }
  size_t failed = 0;
  const CUresult result = session.driver.cuMemBatchDecompressAsync(items.data(), count, 0, &failed, stream);
  wire::Writer answer;
  answer.put(uint64_t{failed});
  session.finish(request, result, answer);
}

}  // namespace sluice::worker::calls
