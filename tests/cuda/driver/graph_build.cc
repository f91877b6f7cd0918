// An explicit graph of kernels, sets, copies, host functions and a child: built, launched, changed, cloned,
// updated. Host memory changes between launches, and each launch sees what is there when it comes to it.
//
// Round trips: 24.
#include <array>
#include <atomic>
#include <vector>

#include "check.h"

using namespace sluice::programs;

namespace {

constexpr unsigned kCount = 256;
constexpr size_t kBytes = kCount * sizeof(unsigned);

std::atomic<int> calls{0};
void count_call(void* by) { calls += *static_cast<int*>(by); }

CUDA_MEMCPY3D to_device(CUdeviceptr to, const void* from) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = to;
  copy.WidthInBytes = kBytes;
  copy.Height = copy.Depth = 1;
  return copy;
}

CUDA_MEMCPY3D to_host(void* to, CUdeviceptr from) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = to;
  copy.WidthInBytes = kBytes;
  copy.Height = copy.Depth = 1;
  return copy;
}

struct AddNode {
  CUdeviceptr values;
  unsigned count = kCount;
  unsigned amount;
  std::array<void*, 3> addresses{&values, &count, &amount};
  CUDA_KERNEL_NODE_PARAMS_v2 params{};
  AddNode(CUfunction kernel, CUdeviceptr at, unsigned by) : values(at), amount(by) {
    params.func = kernel;
    params.gridDimX = 2;
    params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = 128;
    params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = addresses.data();
  }
};

}  // namespace

int main() {
  CUcontext context = open_device();
  CUfunction add = find_kernel(load_module(kAddPtx), "add");
  CUdeviceptr memory = 0;
  CHECK(cu.cuMemAlloc_v2(&memory, kBytes));
  CUstream stream{};
  CHECK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  std::vector<unsigned> in(kCount, 1);
  std::vector<unsigned> out(kCount, 0);

  CUgraph graph{};
  CHECK(cu.cuGraphCreate(&graph, 0));
  CUgraphNode copy_in{};
  CUgraphNode plus_two{};
  CUgraphNode host{};
  CUgraphNode copy_out{};
  const CUDA_MEMCPY3D in_params = to_device(memory, in.data());
  const CUDA_MEMCPY3D out_params = to_host(out.data(), memory);
  AddNode two(add, memory, 2);
  int one = 1;
  const CUDA_HOST_NODE_PARAMS counting{count_call, &one};
  CHECK(cu.cuGraphAddMemcpyNode(&copy_in, graph, nullptr, 0, &in_params, context));
  CHECK(cu.cuGraphAddKernelNode_v2(&plus_two, graph, &copy_in, 1, &two.params));
  CHECK(cu.cuGraphAddHostNode(&host, graph, &plus_two, 1, &counting));
  CHECK(cu.cuGraphAddMemcpyNode(&copy_out, graph, &host, 1, &out_params, context));

  // What was built is known: nodes, roots, edges, parameters.
  size_t count = 0;
  CHECK(cu.cuGraphGetNodes(graph, nullptr, &count));
  say("nodes: %zu", count);
  CHECK(cu.cuGraphGetRootNodes(graph, nullptr, &count));
  say("roots: %zu", count);
  CHECK(cu.cuGraphGetEdges(graph, nullptr, nullptr, &count));
  say("edges: %zu", count);
  CUgraphNodeType type{};
  CHECK(cu.cuGraphNodeGetType(copy_in, &type));
  say("type of the copy: %d", type);
  CUDA_KERNEL_NODE_PARAMS_v2 read{};
  CHECK(cu.cuGraphKernelNodeGetParams_v2(plus_two, &read));
  say("kernel: %u blocks of %u, adds %u", read.gridDimX, read.blockDimX,
      *static_cast<unsigned*>(read.kernelParams[2]));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuGraphAddDependencies(graph, &copy_in, &copy_in, 1));

  CUgraphExec exec{};
  CHECK(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (unsigned round = 1; round <= 3; round++) {
    in.assign(kCount, 10 * round);
    CHECK(cu.cuGraphLaunch(exec, stream));
    CHECK(cu.cuStreamSynchronize(stream));
    say("launch %u: %u, host function ran %d times", round, out[kCount - 1], calls.load());
  }

  // Other parameters for later launches: of the kernel, of the copies, of the host function.
  AddNode seven(add, memory, 7);
  CHECK(cu.cuGraphExecKernelNodeSetParams_v2(exec, plus_two, &seven.params));
  std::vector<unsigned> other_in(kCount, 100);
  std::vector<unsigned> other_out(kCount, 0);
  const CUDA_MEMCPY3D other_in_params = to_device(memory, other_in.data());
  const CUDA_MEMCPY3D other_out_params = to_host(other_out.data(), memory);
  CHECK(cu.cuGraphExecMemcpyNodeSetParams(exec, copy_in, &other_in_params, context));
  CHECK(cu.cuGraphExecMemcpyNodeSetParams(exec, copy_out, &other_out_params, context));
  int ten = 10;
  const CUDA_HOST_NODE_PARAMS counting_ten{count_call, &ten};
  CHECK(cu.cuGraphExecHostNodeSetParams(exec, host, &counting_ten));
  CHECK(cu.cuGraphLaunch(exec, stream));
  CHECK(cu.cuStreamSynchronize(stream));
  say("changed: %u, %d calls, the old target still holds %u", other_out[0], calls.load(), out[0]);

  // The graph itself has kept its own; an update brings them back.
  CUgraphExecUpdateResultInfo info{};
  CHECK(cu.cuGraphExecUpdate_v2(exec, graph, &info));
  in.assign(kCount, 5);
  CHECK(cu.cuGraphLaunch(exec, stream));
  CHECK(cu.cuStreamSynchronize(stream));
  say("updated: result %d, %u", info.result, out[0]);

  // A clone has nodes of its own, which are found by those of the original.
  CUgraph clone{};
  CHECK(cu.cuGraphClone(&clone, graph));
  CUgraphNode cloned{};
  CHECK(cu.cuGraphNodeFindInClone(&cloned, plus_two, clone));
  EXPECT(cloned != plus_two);
  CHECK(cu.cuGraphKernelNodeGetParams_v2(cloned, &read));
  say("clone: adds %u", *static_cast<unsigned*>(read.kernelParams[2]));
  AddNode nine(add, memory, 9);
  CHECK(cu.cuGraphKernelNodeSetParams_v2(cloned, &nine.params));
  CUgraphExec clone_exec{};
  CHECK(cu.cuGraphInstantiateWithFlags(&clone_exec, clone, 0));
  CHECK(cu.cuGraphDestroy(clone));  // what was instantiated goes on
  CHECK(cu.cuGraphLaunch(clone_exec, stream));
  CHECK(cu.cuStreamSynchronize(stream));
  say("clone launched: %u", out[0]);

  // The graph twice as a child, between a set and a kernel of its own.
  CUgraph parent{};
  CHECK(cu.cuGraphCreate(&parent, 0));
  CUgraphNode set{};
  CUgraphNode first{};
  CUgraphNode second{};
  CUgraphNode last{};
  const CUDA_MEMSET_NODE_PARAMS zero{memory, 0, 0, 4, kCount, 1};
  CHECK(cu.cuGraphAddMemsetNode(&set, parent, nullptr, 0, &zero, context));
  CHECK(cu.cuGraphAddChildGraphNode(&first, parent, &set, 1, graph));
  CHECK(cu.cuGraphAddChildGraphNode(&second, parent, &first, 1, graph));
  AddNode more(add, memory, 1000);
  CHECK(cu.cuGraphAddKernelNode_v2(&last, parent, &second, 1, &more.params));
  CUgraph child{};
  CHECK(cu.cuGraphChildGraphNodeGetGraph(first, &child));
  CHECK(cu.cuGraphGetNodes(child, nullptr, &count));
  say("child: %zu nodes", count);
  CUgraphExec parent_exec{};
  CHECK(cu.cuGraphInstantiateWithFlags(&parent_exec, parent, 0));
  const int before = calls.load();
  CHECK(cu.cuGraphLaunch(parent_exec, stream));
  CHECK(cu.cuStreamSynchronize(stream));
  std::vector<unsigned> now(kCount);
  CHECK(cu.cuMemcpyDtoH_v2(now.data(), memory, kBytes));
  say("parent: %u, %d calls", now[17], calls.load() - before);

  // Switched off for later launches, and on again.
  unsigned enabled = 9;
  CHECK(cu.cuGraphNodeSetEnabled(parent_exec, last, 0));
  CHECK(cu.cuGraphNodeGetEnabled(parent_exec, last, &enabled));
  CHECK(cu.cuGraphLaunch(parent_exec, stream));
  CHECK(cu.cuStreamSynchronize(stream));
  CHECK(cu.cuMemcpyDtoH_v2(now.data(), memory, kBytes));
  say("enabled %u: %u", enabled, now[17]);

  // A circle cannot be instantiated, and is refused then or before.
  CUresult circle = cu.cuGraphAddDependencies(parent, &last, &set, 1);
  CUgraphExec never{};
  if (circle == CUDA_SUCCESS) circle = cu.cuGraphInstantiateWithFlags(&never, parent, 0);
  say("circle: %s", error_name(circle).c_str());

  CHECK(cu.cuGraphExecDestroy(exec));
  CHECK(cu.cuGraphExecDestroy(clone_exec));
  CHECK(cu.cuGraphExecDestroy(parent_exec));
  CHECK(cu.cuGraphDestroy(parent));
  CHECK(cu.cuGraphDestroy(graph));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuGraphGetNodes(nullptr, nullptr, &count));
  CHECK(cu.cuMemFree_v2(memory));
  return 0;
}
