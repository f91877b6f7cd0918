// Waiting for values in memory and writing them, in streams: order between two streams, batches, what is
// refused, a wait that others go past, and contexts that end with a stream standing at one.
//
// Round trips: 22.
#include <thread>

#include "check.h"

using namespace sluice::programs;

namespace {

template <typename Value>
Value read_back(CUdeviceptr address) {
  Value value{};
  CHECK(cu.cuMemcpyDtoH_v2(&value, address, sizeof value));
  return value;
}

CUstream new_stream() {
  CUstream stream{};
  CHECK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

// A wait that is met by another stream's write; what comes after the wait sees what came before the write.
void check_order(CUdeviceptr memory, unsigned flags, unsigned wanted, unsigned written) {
  const CUstream waits = new_stream();
  const CUstream writes = new_stream();
  CHECK(cu.cuMemsetD32Async(memory, 0, 16, writes));
  CHECK(cu.cuStreamSynchronize(writes));
  CHECK(cu.cuStreamWaitValue32_v2(waits, memory, wanted, flags));
  CHECK(cu.cuMemcpyDtoDAsync_v2(memory + 8, memory + 4, 4, waits));
  EXPECT_RESULT(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(waits));
  CHECK(cu.cuMemsetD32Async(memory + 4, 1234, 1, writes));
  CHECK(cu.cuStreamWriteValue32_v2(writes, memory, written, CU_STREAM_WRITE_VALUE_DEFAULT));
  CHECK(cu.cuStreamSynchronize(waits));
  say("flags %u: %u", flags, read_back<unsigned>(memory + 8));
  CHECK(cu.cuStreamDestroy_v2(waits));
  CHECK(cu.cuStreamDestroy_v2(writes));
}

}  // namespace

int main() {
  const CUcontext context = open_device();
  for (const auto attribute : {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS,
                               CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR}) {
    int can = 0;
    CHECK(cu.cuDeviceGetAttribute(&can, attribute, 0));
    EXPECT(can == 1);
  }
  CUdeviceptr memory{};
  CHECK(cu.cuMemAlloc_v2(&memory, 4096));
  check_order(memory, CU_STREAM_WAIT_VALUE_GEQ, 7, 9);
  check_order(memory, CU_STREAM_WAIT_VALUE_EQ, 7, 7);
  check_order(memory, CU_STREAM_WAIT_VALUE_AND, 6, 2);
  // The wait for a bit that neither has is met by the zero that is there.
  const CUstream stream = new_stream();
  CHECK(cu.cuStreamWaitValue32_v2(stream, memory, 0, CU_STREAM_WAIT_VALUE_NOR));

  // 64 bits, and a batch.
  CHECK(cu.cuStreamWriteValue64_v2(stream, memory + 16, 0x1234567890ull, 0));
  CHECK(cu.cuStreamWaitValue64_v2(stream, memory + 16, 0x1234567890ull, CU_STREAM_WAIT_VALUE_EQ));
  CUstreamBatchMemOpParams batch[3]{};
  batch[0].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, memory + 24, 5, 0, 0};
  batch[1].memoryBarrier = {CU_STREAM_MEM_OP_BARRIER, CU_STREAM_MEMORY_BARRIER_TYPE_GPU};
  batch[2].waitValue = {CU_STREAM_MEM_OP_WAIT_VALUE_32, memory + 24, 5, CU_STREAM_WAIT_VALUE_EQ, 0};
  CHECK(cu.cuStreamBatchMemOp_v2(stream, 3, batch, 0));
  CHECK(cu.cuStreamSynchronize(stream));
  say("64 bits: %llx, a batch: %u", read_back<unsigned long long>(memory + 16),
      read_back<unsigned>(memory + 24));

  // The names without a suffix and those of per-thread streams are there as well.
  CHECK(CU(cuStreamWriteValue32)(stream, memory, 3, 0));
  CHECK(CU(cuStreamWaitValue32_ptsz)(nullptr, memory, 3, CU_STREAM_WAIT_VALUE_GEQ));
  CHECK(cu.cuCtxSynchronize());

  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuStreamWaitValue32_v2(stream, memory + 2, 0, 0));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuStreamWaitValue64_v2(stream, memory + 4, 0, 0));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuStreamWaitValue32_v2(stream, 4096, 0, 0));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuStreamWaitValue32_v2(stream, memory, 0, 4));
  EXPECT_RESULT(CUDA_ERROR_NOT_SUPPORTED,
                cu.cuStreamWaitValue32_v2(stream, memory, 0, CU_STREAM_WAIT_VALUE_FLUSH));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuStreamWriteValue32_v2(stream, memory, 0, 2));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuStreamBatchMemOp_v2(stream, 256, batch, 0));
  say("refused what cannot be");

  // One stream stands; others work, memory is freed, and a thread lets it go.
  CUdeviceptr other{};
  CHECK(cu.cuMemAlloc_v2(&other, 1 << 20));
  CHECK(cu.cuMemsetD32Async(memory, 0, 1, stream));
  CHECK(cu.cuStreamWaitValue32_v2(stream, memory, 1, CU_STREAM_WAIT_VALUE_EQ));
  const CUstream works = new_stream();
  CHECK(cu.cuMemsetD32Async(other, 8, 4, works));
  CHECK(cu.cuStreamSynchronize(works));
  std::thread lets_go([&] {
    CHECK(cu.cuCtxSetCurrent(context));
    CHECK(cu.cuStreamWriteValue32_v2(works, memory, 1, 0));
    CHECK(cu.cuStreamSynchronize(works));
  });
  CHECK(cu.cuMemFree_v2(other));
  lets_go.join();
  CHECK(cu.cuStreamSynchronize(stream));
  say("a stream that stood has gone on");

  // A stream that never goes on does not keep its context, nor the program.
  CUcontext doomed{};
  CHECK(cu.cuCtxCreate_v2(&doomed, 0, 0));
  CUdeviceptr there{};
  CHECK(cu.cuMemAlloc_v2(&there, 256));
  const CUstream stuck = new_stream();
  CHECK(cu.cuMemsetD32Async(there, 0, 64, stuck));
  CHECK(cu.cuStreamWaitValue32_v2(stuck, there, 1, CU_STREAM_WAIT_VALUE_EQ));
  CHECK(cu.cuStreamDestroy_v2(stuck));
  CHECK(cu.cuCtxDestroy_v2(doomed));
  CHECK(cu.cuCtxSetCurrent(context));
  CHECK(cu.cuMemsetD32Async(memory, 0, 1, stream));
  CHECK(cu.cuStreamWaitValue32_v2(stream, memory, 1, CU_STREAM_WAIT_VALUE_EQ));
  say("ends with a stream that waits");
}
