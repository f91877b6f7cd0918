// Graphs that are made node by node.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "driver_fixture.h"
#include "graph_api.h"

namespace {

class GraphTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_OK(cuGraphCreate(&graph_, 0));
    ASSERT_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    memory_ = allocate(4096);
  }
  void TearDown() override {
    if (exec_ != nullptr) {
      EXPECT_OK(cuGraphExecDestroy(exec_));
    }
    EXPECT_OK(cuGraphDestroy(graph_));
    DriverTest::TearDown();
  }

  // `name` with (address, value) as parameters.
  CUDA_KERNEL_NODE_PARAMS_v2 kernel(const char* name, CUdeviceptr* address, unsigned* value) {
    parameters_[0] = address;
    parameters_[1] = value;
    CUDA_KERNEL_NODE_PARAMS_v2 given{};
    given.func = function(name);
    given.gridDimX = given.gridDimY = given.gridDimZ = 1;
    given.blockDimX = given.blockDimY = given.blockDimZ = 1;
    given.kernelParams = parameters_;
    return given;
  }
  CUgraphNode add_kernel(const char* name, unsigned value, std::vector<CUgraphNode> after) {
    const auto given = kernel(name, &memory_, &value);
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddKernelNode_v2(&node, graph_, after.data(), after.size(), &given));
    return node;
  }
  CUgraphNode add_fill(unsigned value, std::vector<CUgraphNode> after) {
    const CUDA_MEMSET_NODE_PARAMS given{memory_, 0, value, 4, 1, 1};
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddMemsetNode(&node, graph_, after.data(), after.size(), &given, context_));
    return node;
  }
  CUgraphNode add_host(CUhostFn body, void* data, std::vector<CUgraphNode> after) {
    const CUDA_HOST_NODE_PARAMS given{body, data};
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddHostNode(&node, graph_, after.data(), after.size(), &given));
    return node;
  }
  void run() {
    if (exec_ == nullptr) {
      ASSERT_OK(cuGraphInstantiateWithFlags(&exec_, graph_, 0));
    }
    ASSERT_OK(cuGraphLaunch(exec_, stream_));
    ASSERT_OK(cuStreamSynchronize(stream_));
  }

  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr memory_ = 0;
  void* parameters_[2];
};

TEST_F(GraphTest, RunsInTheOrderOfItsEdges) {
  const CUgraphNode fill = add_fill(3, {});
  const CUgraphNode first = add_kernel("add", 4, {fill});
  add_kernel("multiply", 10, {first});
  run();
  EXPECT_EQ(read(memory_), 70u);
  run();
  EXPECT_EQ(read(memory_), 70u);
  // The graph itself may change or go: what was instantiated stays.
  EXPECT_OK(cuGraphDestroyNode(first));
  run();
  EXPECT_EQ(read(memory_), 70u);
}

TEST_F(GraphTest, BranchesRunBesideEachOther) {
  struct Meeting {
    std::atomic<int> there{0};
    static void come(void* self) {
      auto* meeting = static_cast<Meeting*>(self);
      meeting->there.fetch_add(1);
      while (meeting->there.load() < 2) std::this_thread::yield();
    }
  } meeting;
  const CUgraphNode root = add_fill(1, {});
  const CUgraphNode left = add_host(Meeting::come, &meeting, {root});
  const CUgraphNode right = add_host(Meeting::come, &meeting, {root});
  add_kernel("add", 1, {left, right});
  run();
  EXPECT_EQ(read(memory_), 2u);
}

TEST_F(GraphTest, LaunchesFollowEachOtherAndTheStream) {
  add_kernel("add", 1, {});
  ASSERT_OK(cuGraphInstantiateWithFlags(&exec_, graph_, 0));
  ASSERT_OK(cuMemsetD32Async(memory_, 0, 1, stream_));
  for (int i = 0; i < 500; i++) ASSERT_OK(cuGraphLaunch(exec_, stream_));
  ASSERT_OK(add(stream_, memory_, 10, "multiply"));
  ASSERT_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read(memory_), 5000u);
}

TEST_F(GraphTest, CopiesReadHostMemoryAtEachLaunch) {
  unsigned source = 5;
  unsigned destination = 0;
  CUDA_MEMCPY3D up{};
  up.srcMemoryType = CU_MEMORYTYPE_HOST;
  up.srcHost = &source;
  up.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  up.dstDevice = memory_;
  up.WidthInBytes = 4;
  up.Height = up.Depth = 1;
  CUDA_MEMCPY3D down = up;
  down.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  down.srcDevice = memory_;
  down.dstMemoryType = CU_MEMORYTYPE_HOST;
  down.dstHost = &destination;
  CUgraphNode first = nullptr;
  CUgraphNode last = nullptr;
  ASSERT_OK(cuGraphAddMemcpyNode(&first, graph_, nullptr, 0, &up, context_));
  const CUgraphNode middle = add_kernel("multiply", 3, {first});
  ASSERT_OK(cuGraphAddMemcpyNode(&last, graph_, &middle, 1, &down, context_));
  run();
  EXPECT_EQ(destination, 15u);
  source = 7;
  run();
  EXPECT_EQ(destination, 21u);
}

TEST_F(GraphTest, ChildGraphsAreCopies) {
  add_kernel("add", 2, {});
  CUgraph outer = nullptr;
  CUgraphNode child = nullptr;
  CUgraphNode again = nullptr;
  ASSERT_OK(cuGraphCreate(&outer, 0));
  ASSERT_OK(cuGraphAddChildGraphNode(&child, outer, nullptr, 0, graph_));
  ASSERT_OK(cuGraphAddChildGraphNode(&again, outer, &child, 1, graph_));
  add_kernel("add", 100, {});  // comes too late
  ASSERT_OK(cuGraphInstantiateWithFlags(&exec_, outer, 0));
  ASSERT_OK(cuMemsetD32Async(memory_, 0, 1, stream_));
  ASSERT_OK(cuGraphLaunch(exec_, stream_));
  ASSERT_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read(memory_), 4u);
  CUgraphNodeType type{};
  EXPECT_OK(cuGraphNodeGetType(child, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_GRAPH);
  EXPECT_OK(cuGraphDestroy(outer));
}

TEST_F(GraphTest, ParametersOfAnInstantiatedNodeCanBeChanged) {
  const CUgraphNode fill = add_fill(0, {});
  const CUgraphNode node = add_kernel("add", 1, {fill});
  run();
  EXPECT_EQ(read(memory_), 1u);
  unsigned value = 9;
  auto given = kernel("add", &memory_, &value);
  ASSERT_OK(cuGraphExecKernelNodeSetParams_v2(exec_, node, &given));
  run();
  EXPECT_EQ(read(memory_), 9u);
  CUDA_KERNEL_NODE_PARAMS_v2 described{};
  ASSERT_OK(cuGraphKernelNodeGetParams_v2(node, &described));
  EXPECT_EQ(*static_cast<unsigned*>(described.kernelParams[1]), 1u) << "the graph's own node is as it was";
  EXPECT_EQ(*static_cast<CUdeviceptr*>(described.kernelParams[0]), memory_);
  ASSERT_OK(cuGraphNodeSetEnabled(exec_, node, 0));
  run();
  EXPECT_EQ(read(memory_), 0u);
  EXPECT_EQ(cuGraphExecKernelNodeSetParams_v2(exec_, fill, &given), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphTest, UpdateTakesOverAGraphOfTheSameShape) {
  const CUgraphNode fill = add_fill(0, {});
  add_kernel("add", 1, {fill});
  run();
  CUgraph other = nullptr;
  ASSERT_OK(cuGraphClone(&other, graph_));
  std::swap(graph_, other);
  CUgraphNode in_clone = nullptr;
  ASSERT_OK(cuGraphNodeFindInClone(&in_clone, fill, graph_));
  CUgraphExecUpdateResultInfo info{};
  ASSERT_OK(cuGraphExecUpdate_v2(exec_, graph_, &info));
  add_kernel("multiply", 2, {});
  EXPECT_EQ(cuGraphExecUpdate_v2(exec_, graph_, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  run();
  EXPECT_EQ(read(memory_), 1u);
  EXPECT_OK(cuGraphDestroy(other));
}

TEST_F(GraphTest, ShapeCanBeAskedForAndChanged) {
  const CUgraphNode first = add_fill(1, {});
  const CUgraphNode second = add_fill(2, {first});
  const CUgraphNode third = add_fill(3, {});
  size_t count = 0;
  EXPECT_OK(cuGraphGetNodes(graph_, nullptr, &count));
  EXPECT_EQ(count, 3u);
  CUgraphNode roots[4];
  count = 4;
  EXPECT_OK(cuGraphGetRootNodes(graph_, roots, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(roots[0], first);
  EXPECT_EQ(roots[1], third);
  EXPECT_EQ(roots[3], nullptr);
  EXPECT_OK(cuGraphAddDependencies(graph_, &second, &third, 1));
  EXPECT_EQ(cuGraphAddDependencies(graph_, &second, &third, 1), CUDA_ERROR_INVALID_VALUE) << "there already";
  EXPECT_OK(cuGraphGetEdges(graph_, nullptr, nullptr, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_OK(cuGraphAddDependencies(graph_, &third, &first, 1));
  EXPECT_EQ(cuGraphInstantiateWithFlags(&exec_, graph_, 0), CUDA_ERROR_INVALID_VALUE) << "a circle";
  EXPECT_OK(cuGraphRemoveDependencies(graph_, &third, &first, 1));
  run();
  EXPECT_EQ(read(memory_), 3u);
}

TEST_F(GraphTest, BadHandlesAreErrors) {
  CUgraph other = nullptr;
  ASSERT_OK(cuGraphCreate(&other, 0));
  CUgraphNode foreign = nullptr;
  ASSERT_OK(cuGraphAddEmptyNode(&foreign, other, nullptr, 0));
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph_, &foreign, 1), CUDA_ERROR_INVALID_VALUE);
  const CUgraphNode twice[] = {add_fill(1, {}), add_fill(1, {})};
  EXPECT_OK(cuGraphAddEmptyNode(&node, graph_, twice, 2));
  const CUgraphNode same[] = {twice[0], twice[0]};
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph_, same, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuGraphDestroy(other));
  EXPECT_EQ(cuGraphDestroy(other), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroyNode(foreign), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphLaunch(nullptr, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphCreate(&other, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphTest, MemoryOfNodes) {
  CUDA_MEM_ALLOC_NODE_PARAMS given{};
  given.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  given.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  given.bytesize = 1 << 20;
  CUgraphNode alloc = nullptr;
  CUgraphNode release = nullptr;
  ASSERT_OK(cuGraphAddMemAllocNode(&alloc, graph_, nullptr, 0, &given));
  const CUDA_MEMSET_NODE_PARAMS fill{given.dptr, 0, 42, 4, 16, 1};
  CUgraphNode filled = nullptr;
  ASSERT_OK(cuGraphAddMemsetNode(&filled, graph_, &alloc, 1, &fill, context_));
  ASSERT_OK(cuGraphInstantiateWithFlags(&exec_, graph_, 0));
  ASSERT_OK(cuGraphLaunch(exec_, stream_));
  ASSERT_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read(given.dptr), 42u);
  uint64_t used = 0;
  ASSERT_OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
  EXPECT_EQ(used, uint64_t{1} << 20);
  EXPECT_EQ(cuGraphLaunch(exec_, stream_), CUDA_ERROR_INVALID_VALUE) << "not freed since";
  ASSERT_OK(cuMemFreeAsync(given.dptr, stream_));
  ASSERT_OK(cuGraphLaunch(exec_, stream_));
  ASSERT_OK(cuMemFree_v2(given.dptr));
  EXPECT_EQ(cuMemFree_v2(given.dptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuGraphExecDestroy(exec_));
  exec_ = nullptr;
  ASSERT_OK(cuGraphAddMemFreeNode(&release, graph_, &filled, 1, given.dptr));
  run();
  run();
  ASSERT_OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
  EXPECT_EQ(used, 0u);
}

TEST_F(GraphTest, UserObjectsLiveAsLongAsTheGraphsThatHoldThem) {
  static std::atomic<int> destroyed;
  destroyed = 0;
  CUuserObject object = nullptr;
  ASSERT_OK(cuUserObjectCreate(
      &object, &destroyed,
      [](void*) {
        destroyed = 1;
        destroyed.notify_all();
      },
      1, 1));
  CUgraph holder = nullptr;
  ASSERT_OK(cuGraphCreate(&holder, 0));
  ASSERT_OK(cuGraphRetainUserObject(holder, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  ASSERT_OK(cuGraphInstantiateWithFlags(&exec_, holder, 0));
  ASSERT_OK(cuGraphDestroy(holder));
  EXPECT_EQ(destroyed, 0) << "the instantiated graph holds it";
  ASSERT_OK(cuGraphExecDestroy(exec_));
  exec_ = nullptr;
  destroyed.wait(0);
  EXPECT_EQ(destroyed, 1);
}

TEST_F(GraphTest, DotNamesNodesAndEdges) {
  const CUgraphNode fill = add_fill(1, {});
  add_kernel("add", 1, {fill});
  const std::string path = "/tmp/sluice-dot-" + std::to_string(::getpid());
  ASSERT_OK(cuGraphDebugDotPrint(graph_, path.c_str(), 1));
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(text.find("memset"), std::string::npos);
  EXPECT_NE(text.find("add"), std::string::npos);
  EXPECT_NE(text.find("->"), std::string::npos);
  ::unlink(path.c_str());
  EXPECT_EQ(cuGraphDebugDotPrint(graph_, "/nowhere/graph.dot", 0), CUDA_ERROR_OPERATING_SYSTEM);
}

}  // namespace

int main(int argc, char** argv) { return run_with_devices(argc, argv, "1x(memory=1GiB,cc=9.0,sms=4)"); }
