#include <atomic>
#include <chrono>
#include <vector>

#include "driver_fixture.h"

namespace {

using Clock = std::chrono::steady_clock;

class StreamTest : public DriverTest {
 protected:
  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream out = nullptr;
    EXPECT_OK(cuStreamCreate(&out, flags));
    return out;
  }
  CUevent event(unsigned flags = CU_EVENT_DEFAULT) {
    CUevent out = nullptr;
    EXPECT_OK(cuEventCreate(&out, flags));
    return out;
  }
};

TEST_F(StreamTest, WorkOfOneStreamIsInOrder) {
  const CUdeviceptr address = allocate(4);
  const CUstream s = stream();
  EXPECT_OK(cuMemsetD32Async(address, 1, 1, s));
  unsigned expected = 1;
  for (unsigned i = 0; i < 500; ++i) {
    EXPECT_OK(add(s, address, i, i % 2 == 0 ? "add" : "multiply"));
    expected = i % 2 == 0 ? expected + i : expected * i;
  }
  EXPECT_OK(cuStreamSynchronize(s));
  EXPECT_EQ(read(address), expected);
}

TEST_F(StreamTest, StreamsRunAtTheSameTime) {
  const auto begin = Clock::now();
  for (int i = 0; i < 8; ++i) EXPECT_OK(sleep(stream(), 100));
  const auto queued = Clock::now();
  EXPECT_OK(cuCtxSynchronize());
  const auto done = Clock::now();
  EXPECT_LT(queued - begin, std::chrono::milliseconds(90));
  EXPECT_GE(done - begin, std::chrono::milliseconds(100));
  EXPECT_LT(done - begin, std::chrono::milliseconds(600));
}

TEST_F(StreamTest, EventsOrderStreams) {
  const CUdeviceptr address = allocate(4);
  const CUstream a = stream(), b = stream();
  const CUevent mark = event();
  EXPECT_OK(cuMemsetD32Async(address, 1, 1, a));
  EXPECT_OK(cuEventQuery(mark));  // never recorded
  EXPECT_OK(sleep(a, 50));
  EXPECT_OK(add(a, address, 10));
  EXPECT_OK(cuEventRecord(mark, a));
  EXPECT_EQ(cuEventQuery(mark), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
  EXPECT_OK(cuStreamWaitEvent(b, mark, 0));
  EXPECT_OK(add(b, address, 3, "multiply"));
  EXPECT_OK(cuStreamSynchronize(b));
  EXPECT_OK(cuEventQuery(mark));
  EXPECT_OK(cuStreamQuery(a));
  EXPECT_EQ(read(address), 33u);
}

TEST_F(StreamTest, EventsMeasureTime) {
  const CUstream s = stream();
  const CUevent begin = event(), end = event(CU_EVENT_BLOCKING_SYNC),
                untimed = event(CU_EVENT_DISABLE_TIMING);
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, end), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(cuEventRecord(begin, s));
  EXPECT_OK(sleep(s, 60));
  EXPECT_OK(cuEventRecord(end, s));
  EXPECT_OK(cuEventRecord(untimed, s));
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, end), CUDA_ERROR_NOT_READY);
  EXPECT_OK(cuEventSynchronize(end));
  EXPECT_OK(cuEventElapsedTime(&milliseconds, begin, end));
  EXPECT_GE(milliseconds, 59.0f);
  EXPECT_LT(milliseconds, 500.0f);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, untimed), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(StreamTest, TheDefaultStreamWaitsForBlockingStreamsAndTheyForIt) {
  const CUdeviceptr address = allocate(4);
  const CUstream blocking = stream(CU_STREAM_DEFAULT), other = stream(CU_STREAM_DEFAULT);
  EXPECT_OK(cuMemsetD32_v2(address, 1, 1));
  EXPECT_OK(sleep(blocking, 40));
  EXPECT_OK(add(blocking, address, 4));
  EXPECT_OK(add(nullptr, address, 10, "multiply"));  // (1 + 4) * 10
  EXPECT_OK(sleep(nullptr, 40));
  EXPECT_OK(add(other, address, 7));
  EXPECT_OK(cuStreamSynchronize(other));
  EXPECT_EQ(read(address), 57u);
}

TEST_F(StreamTest, NonBlockingStreamsDoNotWaitForTheDefaultStream) {
  EXPECT_OK(sleep(nullptr, 200));
  const CUdeviceptr address = allocate(4);
  const CUstream s = stream(CU_STREAM_NON_BLOCKING);
  EXPECT_OK(cuMemsetD32Async(address, 6, 1, s));
  EXPECT_OK(cuStreamSynchronize(s));
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  EXPECT_OK(cuStreamSynchronize(nullptr));
}

TEST_F(StreamTest, PerThreadDefaultStreamsAreStreamsOfTheirOwn) {
  unsigned long long legacy = 0, own = 0;
  EXPECT_OK(cuStreamGetId(nullptr, &legacy));
  EXPECT_OK(cuStreamGetId_ptsz(nullptr, &own));
  EXPECT_NE(legacy, own);
  EXPECT_OK(sleep(CU_STREAM_PER_THREAD, 30));
  EXPECT_EQ(cuStreamQuery_ptsz(nullptr), CUDA_ERROR_NOT_READY);
  EXPECT_OK(cuStreamSynchronize_ptsz(nullptr));
}

std::vector<int>& calls() {
  static std::vector<int> instance;
  return instance;
}

TEST_F(StreamTest, HostFunctionsAndCallbacksRunInOrder) {
  calls().clear();
  const CUstream s = stream();
  for (int i = 0; i < 50; ++i) {
    if (i % 2 == 0) {
      EXPECT_OK(cuLaunchHostFunc(
          s, [](void* data) { calls().push_back(static_cast<int>(reinterpret_cast<intptr_t>(data))); },
          reinterpret_cast<void*>(static_cast<intptr_t>(i))));
    } else {
      EXPECT_OK(cuStreamAddCallback(
          s,
          [](CUstream, int status, void* data) {
            calls().push_back(status == 0 ? static_cast<int>(reinterpret_cast<intptr_t>(data)) : -1);
          },
          reinterpret_cast<void*>(static_cast<intptr_t>(i)), 0));
    }
  }
  EXPECT_OK(cuStreamSynchronize(s));
  ASSERT_EQ(calls().size(), 50u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(calls()[static_cast<size_t>(i)], i);
}

TEST_F(StreamTest, PageableMemoryIsReadBeforeTheCallReturns) {
  const CUstream s = stream();
  for (const size_t bytes : {size_t{1000}, size_t{1} << 20}) {
    const CUdeviceptr address = allocate(bytes);
    std::vector<char> data(bytes, 1), back(bytes);
    EXPECT_OK(sleep(s, 20));
    EXPECT_OK(cuMemcpyHtoDAsync_v2(address, data.data(), bytes, s));
    std::fill(data.begin(), data.end(), 2);
    EXPECT_OK(cuMemcpyDtoHAsync_v2(back.data(), address, bytes, s));
    EXPECT_EQ(back, std::vector<char>(bytes, 1)) << bytes;
  }
}

TEST_F(StreamTest, PinnedCopiesDoNotBlockTheCaller) {
  const CUstream s = stream();
  void* pinned = nullptr;
  ASSERT_OK(cuMemAllocHost_v2(&pinned, 4096));
  const CUdeviceptr address = allocate(4096);
  EXPECT_OK(sleep(s, 100));
  const auto begin = Clock::now();
  EXPECT_OK(cuMemcpyHtoDAsync_v2(address, pinned, 4096, s));
  EXPECT_OK(cuMemcpyDtoHAsync_v2(pinned, address, 4096, s));
  EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(50));
  EXPECT_OK(cuStreamSynchronize(s));
  EXPECT_OK(cuMemFreeHost(pinned));
}

TEST_F(StreamTest, ADestroyedStreamFinishesItsWork) {
  const CUdeviceptr address = allocate(4);
  const CUstream s = stream(CU_STREAM_DEFAULT);
  EXPECT_OK(cuMemsetD32Async(address, 1, 1, s));
  EXPECT_OK(sleep(s, 30));
  EXPECT_OK(add(s, address, 1));
  EXPECT_OK(cuStreamDestroy_v2(s));
  EXPECT_EQ(cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(read(address), 2u);  // the default stream still waits for it
}

TEST_F(StreamTest, PrioritiesAndFlags) {
  CUstream s = nullptr;
  EXPECT_OK(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, -100));
  int priority = 0, lowest = 9, highest = 9;
  EXPECT_OK(cuCtxGetStreamPriorityRange(&lowest, &highest));
  EXPECT_OK(cuStreamGetPriority(s, &priority));
  EXPECT_EQ(priority, highest);
  unsigned flags = 0;
  EXPECT_OK(cuStreamGetFlags(s, &flags));
  EXPECT_EQ(flags, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(cuStreamCreate(&s, 77), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace

int main(int argc, char** argv) { return run_with_devices(argc, argv, "1x(memory=1GiB,cc=9.0,sms=4)"); }
