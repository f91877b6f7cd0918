// Memory operations in streams: waiting for a value in memory, and writing one.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/graph/capture.h"

namespace sluice::softgpu {
namespace {

constexpr unsigned kMostOperations = 255;

// Anybody may write the value at any time, the host's own threads included, so that there is nothing to be
// woken by: it is looked at again and again, at first without a pause.
constexpr int kLooksWithoutPause = 200;
constexpr auto kPause = std::chrono::microseconds(50);
constexpr auto kLongPause = std::chrono::milliseconds(1);
constexpr int kLooksUntilLongPause = 4000;
// A context that ends gives its waits this long before it goes without them.
constexpr auto kEndingPatience = std::chrono::milliseconds(100);

template <typename Unsigned>
bool holds(uint64_t address, uint64_t value, unsigned flags) {
  using Signed = std::make_signed_t<Unsigned>;
  const auto wanted = static_cast<Unsigned>(value);
  const Unsigned now =
      std::atomic_ref<Unsigned>(*reinterpret_cast<Unsigned*>(address)).load(std::memory_order_acquire);
  switch (flags) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<Signed>(static_cast<Unsigned>(now - wanted)) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return now == wanted;
    case CU_STREAM_WAIT_VALUE_AND:
      return (now & wanted) != 0;
    default:
      return static_cast<Unsigned>(~(now | wanted)) != 0;
  }
}

class MemoryOperation : public Operation {
 public:
  explicit MemoryOperation(std::vector<CUstreamBatchMemOpParams> operations)
      : operations_(std::move(operations)) {}

  CUresult run(Stream& stream) override {
    for (const CUstreamBatchMemOpParams& operation : operations_)
      SLUICE_TRY(run_one(*stream.context, operation));
    return CUDA_SUCCESS;
  }
  bool is_brief() const override {
    for (const CUstreamBatchMemOpParams& operation : operations_) {
      if (operation.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
          operation.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64)
        return false;
    }
    return true;
  }

 private:
  static CUresult run_one(Context& context, const CUstreamBatchMemOpParams& operation) {
    const auto& write = operation.writeValue;
    switch (operation.operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        return wait<uint32_t>(context, operation);
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return wait<uint64_t>(context, operation);
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(write.address))
            .store(static_cast<uint32_t>(write.value64), std::memory_order_seq_cst);
        return CUDA_SUCCESS;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        std::atomic_ref<unsigned long long>(*reinterpret_cast<unsigned long long*>(write.address))
            .store(write.value64, std::memory_order_seq_cst);
        return CUDA_SUCCESS;
      default:
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return CUDA_SUCCESS;
    }
  }

  template <typename Unsigned>
  static CUresult wait(Context& context, const CUstreamBatchMemOpParams& operation) {
    const auto& wanted = operation.waitValue;
    std::chrono::steady_clock::time_point ending_since{};
    for (int looks = 0; !holds<Unsigned>(wanted.address, wanted.value64, wanted.flags); ++looks) {
      if (context.error() != CUDA_SUCCESS) return CUDA_SUCCESS;  // the context has failed already
      if (context.ending.load(std::memory_order_acquire)) {
        const auto now = std::chrono::steady_clock::now();
        if (ending_since.time_since_epoch().count() == 0) ending_since = now;
        // What comes after in the stream must not run as if the value had come.
        if (now - ending_since > kEndingPatience) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
      }
      if (looks < kLooksWithoutPause) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(looks < kLooksUntilLongPause ? kPause : kLongPause);
      }
    }
    return CUDA_SUCCESS;
  }

  const std::vector<CUstreamBatchMemOpParams> operations_;
};

CUresult check(const Context& context, const CUstreamBatchMemOpParams& operation) {
  uint64_t width = 4;
  uint64_t address = operation.waitValue.address;
  switch (operation.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      width = 8;
      [[fallthrough]];
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      if ((operation.waitValue.flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
      if (operation.waitValue.flags > CU_STREAM_WAIT_VALUE_NOR) return CUDA_ERROR_INVALID_VALUE;
      break;
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      width = 8;
      [[fallthrough]];
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      address = operation.writeValue.address;
      if (operation.writeValue.flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)
        return CUDA_ERROR_INVALID_VALUE;
      break;
    case CU_STREAM_MEM_OP_BARRIER:
      return operation.memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU ? CUDA_SUCCESS
                                                                                : CUDA_ERROR_INVALID_VALUE;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      return CUDA_ERROR_NOT_SUPPORTED;  // CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES is 0
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (address == 0 || address % width != 0) return CUDA_ERROR_INVALID_VALUE;
  return check_range(context, address, width);
}

CUresult submit(CUstream handle, unsigned count, const CUstreamBatchMemOpParams* operations, unsigned flags) {
  if (flags != 0 || count > kMostOperations || (count > 0 && operations == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  if (const auto* own = lookup<Stream>(handle); own != nullptr) {
    context = own->context.get();
  } else {
    SLUICE_TRY(current_context(&context));
  }
  SLUICE_TRY(context->error());
  std::shared_ptr<Stream> stream;
  SLUICE_TRY(context->resolve_stream(handle, &stream));
  for (unsigned i = 0; i < count; ++i) SLUICE_TRY(check(*context, operations[i]));
  if (count == 0) return CUDA_SUCCESS;
  SLUICE_TRY(refuse_while_capturing(*stream));
  std::vector<CUstreamBatchMemOpParams> copied(operations, operations + count);
  context->submit(*stream, std::make_unique<MemoryOperation>(std::move(copied)));
  return CUDA_SUCCESS;
}

CUresult wait_value(CUstream stream, CUstreamBatchMemOpType type, uint64_t address, uint64_t value,
                    unsigned flags) {
  CUstreamBatchMemOpParams operation{};
  operation.waitValue = {type, address, value, flags, 0};
  return submit(stream, 1, &operation, 0);
}

CUresult write_value(CUstream stream, CUstreamBatchMemOpType type, uint64_t address, uint64_t value,
                     unsigned flags) {
  CUstreamBatchMemOpParams operation{};
  operation.writeValue = {type, address, value, flags, 0};
  return submit(stream, 1, &operation, 0);
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

// The first forms and the second ones do the same; only the attributes that announce them differ.
#define SLUICE_MEMORY_OPERATIONS(suffix)                                                                     \
  SLUICE_API_PAIR(cuStreamBatchMemOp##suffix, _ptsz,                                                         \
                  (CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations, unsigned flags),   \
                  return submit(pick(stream), count, operations, flags);)                                    \
  SLUICE_API_PAIR(cuStreamWaitValue32##suffix, _ptsz,                                                        \
                  (CUstream stream, CUdeviceptr address, unsigned value, unsigned flags),                    \
                  return wait_value(pick(stream), CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags);)   \
  SLUICE_API_PAIR(cuStreamWaitValue64##suffix, _ptsz,                                                        \
                  (CUstream stream, CUdeviceptr address, unsigned long long value, unsigned flags),          \
                  return wait_value(pick(stream), CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags);)   \
  SLUICE_API_PAIR(cuStreamWriteValue32##suffix, _ptsz,                                                       \
                  (CUstream stream, CUdeviceptr address, unsigned value, unsigned flags),                    \
                  return write_value(pick(stream), CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, flags);) \
  SLUICE_API_PAIR(cuStreamWriteValue64##suffix, _ptsz,                                                       \
                  (CUstream stream, CUdeviceptr address, unsigned long long value, unsigned flags),          \
                  return write_value(pick(stream), CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags);)

SLUICE_MEMORY_OPERATIONS()
SLUICE_MEMORY_OPERATIONS(_v2)

namespace sluice::softgpu {

std::span<const Entry> stream_memory_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY_PAIR("cuStreamBatchMemOp", 8000, cuStreamBatchMemOp, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamWaitValue32", 8000, cuStreamWaitValue32, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamWaitValue64", 9000, cuStreamWaitValue64, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamWriteValue32", 8000, cuStreamWriteValue32, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamWriteValue64", 9000, cuStreamWriteValue64, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamBatchMemOp", 11070, cuStreamBatchMemOp_v2, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamWaitValue32", 11070, cuStreamWaitValue32_v2, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamWaitValue64", 11070, cuStreamWaitValue64_v2, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamWriteValue32", 11070, cuStreamWriteValue32_v2, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamWriteValue64", 11070, cuStreamWriteValue64_v2, _ptsz),
  };
  return entries;
}

}  // namespace sluice::softgpu
