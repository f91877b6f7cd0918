// Stream capture.
#include <vector>

#include "driver_fixture.h"
#include "graph_api.h"

namespace {

class CaptureTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(cuStreamCreate(&other_, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING));
    ASSERT_OK(cuEventCreate(&back_, CU_EVENT_DISABLE_TIMING));
    memory_ = allocate(4096);
  }

  void begin(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    ASSERT_OK(cuStreamBeginCapture_v2(stream_, mode));
  }
  CUresult end() { return cuStreamEndCapture(stream_, &graph_); }
  size_t nodes() {
    size_t count = 0;
    EXPECT_OK(cuGraphGetNodes(graph_, nullptr, &count));
    return count;
  }
  // Launches what was captured so often and waits.
  void run(int times) {
    CUgraphExec exec = nullptr;
    ASSERT_OK(cuGraphInstantiateWithFlags(&exec, graph_, 0));
    for (int i = 0; i < times; i++) ASSERT_OK(cuGraphLaunch(exec, stream_));
    ASSERT_OK(cuStreamSynchronize(stream_));
    ASSERT_OK(cuGraphExecDestroy(exec));
    ASSERT_OK(cuGraphDestroy(graph_));
  }

  CUstream stream_ = nullptr;
  CUstream other_ = nullptr;
  CUevent event_ = nullptr;
  CUevent back_ = nullptr;
  CUdeviceptr memory_ = 0;
  CUgraph graph_ = nullptr;
};

TEST_F(CaptureTest, NothingRunsUntilTheGraphDoes) {
  ASSERT_OK(cuMemsetD32Async(memory_, 1, 1, stream_));
  ASSERT_OK(cuStreamSynchronize(stream_));
  begin();
  unsigned back = 0;
  ASSERT_OK(cuMemsetD32Async(memory_, 5, 1, stream_));
  ASSERT_OK(add(stream_, memory_, 2));
  ASSERT_OK(cuMemcpyDtoHAsync_v2(&back, memory_, 4, stream_));
  CUstreamCaptureStatus status{};
  ASSERT_OK(cuStreamIsCapturing(stream_, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ASSERT_OK(end());
  ASSERT_OK(cuStreamIsCapturing(stream_, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(nodes(), 3u);
  EXPECT_EQ(read(memory_), 1u);
  run(1);
  EXPECT_EQ(back, 7u);
}

TEST_F(CaptureTest, ForksAndJoinsThroughEvents) {
  const CUdeviceptr second = memory_ + 4;
  begin();
  ASSERT_OK(cuMemsetD32Async(memory_, 1, 2, stream_));
  ASSERT_OK(cuEventRecord(event_, stream_));
  ASSERT_OK(cuStreamWaitEvent(other_, event_, 0));
  ASSERT_OK(add(other_, second, 20));
  ASSERT_OK(add(stream_, memory_, 10));
  ASSERT_OK(cuEventRecord(back_, other_));
  ASSERT_OK(cuStreamWaitEvent(stream_, back_, 0));
  ASSERT_OK(add(stream_, second, 100));
  ASSERT_OK(end());
  EXPECT_EQ(nodes(), 4u);
  run(3);
  EXPECT_EQ(read(memory_), 11u);
  EXPECT_EQ(read(second), 121u);
}

TEST_F(CaptureTest, WorkThatDoesNotComeBackIsAnError) {
  begin();
  ASSERT_OK(cuEventRecord(event_, stream_));
  ASSERT_OK(cuStreamWaitEvent(other_, event_, 0));
  ASSERT_OK(add(other_, memory_, 1));
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(graph_, nullptr);
  ASSERT_OK(add(other_, memory_, 1)) << "both are ordinary streams again";
  ASSERT_OK(cuStreamSynchronize(other_));
}

TEST_F(CaptureTest, WaitingForACapturingStreamInvalidatesIt) {
  begin();
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(add(stream_, memory_, 1), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  ASSERT_OK(cuStreamSynchronize(stream_));
}

TEST_F(CaptureTest, UnsafeCallsDependOnTheMode) {
  CUdeviceptr more = 0;
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  ASSERT_OK(cuMemAlloc_v2(&more, 64));
  ASSERT_OK(end());
  ASSERT_OK(cuGraphDestroy(graph_));
  begin();
  EXPECT_EQ(cuMemAlloc_v2(&more, 64), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  ASSERT_OK(cuThreadExchangeStreamCaptureMode(&mode));
  begin();
  ASSERT_OK(cuMemAlloc_v2(&more, 64));
  ASSERT_OK(end());
  ASSERT_OK(cuGraphDestroy(graph_));
  ASSERT_OK(cuThreadExchangeStreamCaptureMode(&mode));
}

TEST_F(CaptureTest, EventsOfACaptureAndOthersDoNotMix) {
  ASSERT_OK(cuEventRecord(back_, other_));
  begin();
  EXPECT_EQ(cuStreamWaitEvent(stream_, back_, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin();
  ASSERT_OK(cuEventRecord(event_, stream_));
  EXPECT_EQ(cuEventQuery(event_), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureTest, BeginAndEndMustFit) {
  EXPECT_EQ(end(), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  begin();
  EXPECT_EQ(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
  ASSERT_OK(end());
  EXPECT_EQ(nodes(), 0u);
  run(1);
}

TEST_F(CaptureTest, TheDefaultStreamCannotBeUsedBesideABlockingOne) {
  CUstream blocking = nullptr;
  ASSERT_OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  ASSERT_OK(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(add(nullptr, memory_, 1), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(cuStreamEndCapture(blocking, &graph_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  ASSERT_OK(add(nullptr, memory_, 1));
}

TEST_F(CaptureTest, StreamOrderedMemoryBecomesNodes) {
  CUdeviceptr scratch = 0;
  begin();
  ASSERT_OK(cuMemAllocAsync(&scratch, 4096, stream_));
  ASSERT_OK(cuMemsetD32Async(scratch, 9, 1, stream_));
  ASSERT_OK(cuMemcpyDtoDAsync_v2(memory_, scratch, 4, stream_));
  ASSERT_OK(cuMemFreeAsync(scratch, stream_));
  ASSERT_OK(end());
  EXPECT_EQ(nodes(), 4u);
  run(2);
  EXPECT_EQ(read(memory_), 9u);
}

TEST_F(CaptureTest, ALaunchedGraphBecomesAChild) {
  begin();
  ASSERT_OK(add(stream_, memory_, 3));
  ASSERT_OK(end());
  CUgraphExec inner = nullptr;
  ASSERT_OK(cuGraphInstantiateWithFlags(&inner, graph_, 0));
  ASSERT_OK(cuGraphDestroy(graph_));
  ASSERT_OK(cuMemsetD32Async(memory_, 0, 1, stream_));
  ASSERT_OK(cuStreamSynchronize(stream_));
  begin();
  ASSERT_OK(cuGraphLaunch(inner, stream_));
  ASSERT_OK(cuGraphLaunch(inner, stream_));
  ASSERT_OK(end());
  ASSERT_OK(cuGraphExecDestroy(inner));
  run(2);
  EXPECT_EQ(read(memory_), 12u);
}

TEST_F(CaptureTest, AStreamThatGoesTakesItsCaptureWithIt) {
  begin();
  ASSERT_OK(cuStreamDestroy_v2(stream_));
  ASSERT_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(end(), CUDA_ERROR_ILLEGAL_STATE);
  ASSERT_OK(cuCtxSynchronize());
}

}  // namespace

int main(int argc, char** argv) { return run_with_devices(argc, argv, "1x(memory=1GiB,cc=9.0,sms=4)"); }
