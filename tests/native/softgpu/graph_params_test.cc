// What nodes are made of, asked for and changed; and what graphs refuse.
#include <algorithm>
#include <cstring>
#include <vector>

#include "driver_fixture.h"
#include "graph_api.h"

extern "C" {
CUresult cuGraphAddNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                           const CUgraphEdgeData* data, size_t count, CUgraphNodeParams* given);
CUresult cuGraphNodeGetParams(CUgraphNode node, CUgraphNodeParams* out);
CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* given);
CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* given);
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                            size_t* count);
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* out);
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, unsigned long long* id,
                                   CUgraph* graph, const CUgraphNode** nodes, size_t* count);
}

namespace {

class GraphParamsTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_OK(cuGraphCreate(&graph_, 0));
    ASSERT_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    memory_ = allocate(4096);
  }
  void TearDown() override {
    EXPECT_OK(cuGraphDestroy(graph_));
    DriverTest::TearDown();
  }

  CUgraphNode add(CUgraphNodeParams given, std::vector<CUgraphNode> after = {}) {
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddNode_v2(&node, graph_, after.data(), nullptr, after.size(), &given));
    return node;
  }
  CUgraphNodeParams fill(unsigned value) {
    CUgraphNodeParams given{};
    given.type = CU_GRAPH_NODE_TYPE_MEMSET;
    given.memset = {memory_, 0, value, 4, 1, 1, context_};
    return given;
  }
  CUgraphNodeParams copy_to_host(void* to, size_t bytes) {
    CUgraphNodeParams given{};
    given.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    given.memcpy.copyCtx = context_;
    CUDA_MEMCPY3D& what = given.memcpy.copyParams;
    what.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    what.srcDevice = memory_;
    what.dstMemoryType = CU_MEMORYTYPE_HOST;
    what.dstHost = to;
    what.WidthInBytes = bytes;
    what.Height = what.Depth = 1;
    return given;
  }
  void launch(CUgraphExec exec) {
    ASSERT_OK(cuGraphLaunch(exec, stream_));
    ASSERT_OK(cuStreamSynchronize(stream_));
  }

  CUgraph graph_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr memory_ = 0;
};

TEST_F(GraphParamsTest, AreReadChangedAndChangedInAnInstantiatedGraph) {
  unsigned first = 0;
  unsigned second = 0;
  const CUgraphNode set = add(fill(3));
  const CUgraphNode back = add(copy_to_host(&first, 4), {set});
  CUgraphNodeParams read{};
  ASSERT_OK(cuGraphNodeGetParams(set, &read));
  EXPECT_EQ(read.type, CU_GRAPH_NODE_TYPE_MEMSET);
  EXPECT_EQ(read.memset.value, 3u);
  EXPECT_EQ(read.memset.ctx, context_);
  CUgraphNodeParams changed = fill(4);
  ASSERT_OK(cuGraphNodeSetParams(set, &changed));
  EXPECT_EQ(cuGraphNodeSetParams(back, &changed), CUDA_ERROR_INVALID_VALUE) << "another kind";
  CUgraphExec exec = nullptr;
  ASSERT_OK(cuGraphInstantiateWithFlags(&exec, graph_, 0));
  launch(exec);
  EXPECT_EQ(first, 4u);
  changed = fill(5);
  ASSERT_OK(cuGraphExecNodeSetParams(exec, set, &changed));
  CUgraphNodeParams elsewhere = copy_to_host(&second, 4);
  ASSERT_OK(cuGraphExecNodeSetParams(exec, back, &elsewhere));
  launch(exec);
  EXPECT_EQ(first, 4u);
  EXPECT_EQ(second, 5u);
  ASSERT_OK(cuGraphNodeGetParams(set, &read));
  EXPECT_EQ(read.memset.value, 4u) << "the graph stays as it was";
  EXPECT_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphParamsTest, EdgesKeepTheirData) {
  CUgraphNodeParams empty{};
  empty.type = CU_GRAPH_NODE_TYPE_EMPTY;
  const CUgraphNode first = add(empty);
  const CUgraphEdgeData data{1, 0, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, {}};
  CUgraphNode second = nullptr;
  ASSERT_OK(cuGraphAddNode_v2(&second, graph_, &first, &data, 1, &empty));
  CUgraphNode from = nullptr;
  CUgraphNode to = nullptr;
  size_t count = 1;
  EXPECT_EQ(cuGraphGetEdges(graph_, &from, &to, &count), CUDA_ERROR_LOSSY_QUERY);
  CUgraphEdgeData read{};
  count = 1;
  ASSERT_OK(cuGraphGetEdges_v2(graph_, &from, &to, &read, &count));
  EXPECT_EQ(from, first);
  EXPECT_EQ(to, second);
  EXPECT_EQ(std::memcmp(&read, &data, sizeof data), 0);
}

TEST_F(GraphParamsTest, MemoryThatIsNotThereIsRefusedBeforeAnythingRuns) {
  unsigned seen = 0;
  CUgraphNodeParams outside = copy_to_host(&seen, 8192);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddNode_v2(&node, graph_, nullptr, nullptr, 0, &outside), CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr gone = allocate(64);
  const CUgraphNode set = add(fill(9));
  CUgraphNodeParams late = copy_to_host(&seen, 4);
  late.memcpy.copyParams.srcDevice = gone;
  add(late, {set});
  CUgraphExec exec = nullptr;
  ASSERT_OK(cuGraphInstantiateWithFlags(&exec, graph_, 0));
  ASSERT_OK(cuMemsetD32_v2(memory_, 1, 1));
  ASSERT_OK(cuMemFree_v2(gone));
  EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read(memory_), 1u) << "the fill before it did not run";
  EXPECT_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphParamsTest, AGraphCannotBecomeAPartOfItself) {
  CUgraphNodeParams child{};
  child.type = CU_GRAPH_NODE_TYPE_GRAPH;
  child.graph = {graph_, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE};
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddNode_v2(&node, graph_, nullptr, nullptr, 0, &child), CUDA_ERROR_INVALID_VALUE);
  child.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE;
  EXPECT_OK(cuGraphAddNode_v2(&node, graph_, nullptr, nullptr, 0, &child));
}

TEST_F(GraphParamsTest, CirclesAreFoundInChildGraphsToo) {
  CUgraph inner = nullptr;
  ASSERT_OK(cuGraphCreate(&inner, 0));
  CUgraphNode nodes[2];
  ASSERT_OK(cuGraphAddEmptyNode(&nodes[0], inner, nullptr, 0));
  ASSERT_OK(cuGraphAddEmptyNode(&nodes[1], inner, &nodes[0], 1));
  CUgraphNode child = nullptr;
  ASSERT_OK(cuGraphAddChildGraphNode(&child, graph_, nullptr, 0, inner));
  ASSERT_OK(cuGraphDestroy(inner));
  CUgraph own = nullptr;
  ASSERT_OK(cuGraphChildGraphNodeGetGraph(child, &own));
  size_t count = 2;
  ASSERT_OK(cuGraphGetNodes(own, nodes, &count));
  ASSERT_OK(cuGraphAddDependencies(own, &nodes[1], &nodes[0], 1));
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, graph_, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, graph_, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH),
            CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(GraphParamsTest, GraphsWithMemoryAreNotCopiedNorInstantiatedTwice) {
  CUDA_MEM_ALLOC_NODE_PARAMS given{};
  given.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  given.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  given.bytesize = 4096;
  CUgraphNode alloc = nullptr;
  ASSERT_OK(cuGraphAddMemAllocNode(&alloc, graph_, nullptr, 0, &given));
  CUgraph copy = nullptr;
  EXPECT_EQ(cuGraphClone(&copy, graph_), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuGraphDestroyNode(alloc), CUDA_ERROR_NOT_SUPPORTED);
  CUgraphExec first = nullptr;
  CUgraphExec second = nullptr;
  ASSERT_OK(cuGraphInstantiateWithFlags(&first, graph_, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
  EXPECT_EQ(cuGraphInstantiateWithFlags(&second, graph_, 0), CUDA_ERROR_NOT_SUPPORTED);
  launch(first);
  launch(first);
  EXPECT_OK(cuGraphExecDestroy(first));
  ASSERT_OK(cuGraphInstantiateWithFlags(&second, graph_, 0));
  EXPECT_OK(cuGraphExecDestroy(second));
}

TEST_F(GraphParamsTest, CapturedCopiesReadPageableMemoryWhenTheyRun) {
  std::vector<unsigned> source(64 * 1024, 1);
  const CUdeviceptr target = allocate(source.size() * 4);
  ASSERT_OK(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUDA_MEMCPY3D what{};
  what.srcMemoryType = CU_MEMORYTYPE_HOST;
  what.srcHost = source.data();
  what.srcPitch = 1024;
  what.srcY = 1;
  what.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  what.dstDevice = target;
  what.dstPitch = 512;
  what.WidthInBytes = 512;
  what.Height = 4;
  what.Depth = 1;
  CUgraph captured = nullptr;
  ASSERT_OK(cuMemcpyHtoDAsync_v2(target, source.data(), source.size() * 4, stream_));
  CUstreamCaptureStatus status{};
  CUgraph open = nullptr;
  ASSERT_OK(cuStreamGetCaptureInfo_v2(stream_, &status, nullptr, &open, nullptr, nullptr));
  const CUresult in_capture = cuGraphDestroy(open);
  EXPECT_EQ(in_capture, CUDA_ERROR_INVALID_VALUE) << "it belongs to the capture";
  ASSERT_OK(cuStreamEndCapture(stream_, &captured));
  CUgraphNode extra = nullptr;
  ASSERT_OK(cuGraphAddMemcpyNode(&extra, captured, nullptr, 0, &what, context_));
  CUgraphExec exec = nullptr;
  ASSERT_OK(cuGraphInstantiateWithFlags(&exec, captured, 0));
  for (unsigned round = 2; round < 5; ++round) {
    std::fill(source.begin(), source.end(), round);
    launch(exec);
    EXPECT_EQ(read(target + source.size() * 4 - 4), round);
  }
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(captured));
}

TEST_F(GraphParamsTest, ASynchronousCopyEndsACapture) {
  unsigned value = 7;
  CUgraph captured = nullptr;
  ASSERT_OK(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(cuMemcpyHtoD_v2(memory_, &value, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamEndCapture(stream_, &captured), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(captured, nullptr);
  EXPECT_OK(cuMemcpyHtoD_v2(memory_, &value, 4));
}

TEST_F(GraphParamsTest, GraphsOutliveTheContextOfTheirNodes) {
  CUcontext other = nullptr;
  CUstream own = nullptr;
  CUdeviceptr memory = 0;
  CUgraph graph = nullptr;
  CUgraph open = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_OK(cuCtxCreate_v2(&other, 0, 0));
  ASSERT_OK(cuMemAlloc_v2(&memory, 64));
  ASSERT_OK(cuStreamCreate(&own, CU_STREAM_DEFAULT));
  ASSERT_OK(cuStreamBeginCapture_v2(own, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_OK(cuMemsetD32Async(memory, 1, 1, own));
  ASSERT_OK(cuStreamEndCapture(own, &graph));
  ASSERT_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  ASSERT_OK(cuGraphLaunch(exec, own));
  ASSERT_OK(cuStreamSynchronize(own));
  ASSERT_OK(cuStreamBeginCapture_v2(own, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_OK(cuCtxDestroy_v2(other));  // with the capture going on
  EXPECT_EQ(cuStreamEndCapture(own, &open), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_OK(cuCtxSetCurrent(context_));
  EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

}  // namespace

int main(int argc, char** argv) { return run_with_devices(argc, argv, "1x(memory=1GiB,cc=9.0,sms=4)"); }
