// Stream capture with a fork and a join, copies and a host function in it; what a capture forbids; and a
// graph of 1,000 kernels launched 20 times, which waits for nothing but the end.
//
// Round trips: 24.
#include <vector>

#include "check.h"

using namespace sluice::programs;

namespace {

constexpr unsigned kCount = 256;
constexpr size_t kBytes = kCount * sizeof(unsigned);

int calls = 0;
void count_call(void*) { calls++; }

}  // namespace

int main() {
  open_device();
  CUfunction add = find_kernel(load_module(kAddPtx), "add");
  CUdeviceptr memory = 0;
  CHECK(cu.cuMemAlloc_v2(&memory, 2 * kBytes));
  CHECK(CU(cuMemsetD32_v2)(memory, 0, 2 * kCount));
  CUstream main_stream{};
  CUstream side_stream{};
  CHECK(cu.cuStreamCreate(&main_stream, CU_STREAM_NON_BLOCKING));
  CHECK(cu.cuStreamCreate(&side_stream, CU_STREAM_NON_BLOCKING));
  CUevent forked{};
  CUevent joined{};
  CHECK(cu.cuEventCreate(&forked, CU_EVENT_DISABLE_TIMING));
  CHECK(cu.cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING));
  std::vector<unsigned> in(kCount, 3);
  std::vector<unsigned> out(kCount, 0);

  CUstreamCaptureStatus status{};
  CHECK(cu.cuStreamIsCapturing(main_stream, &status));
  say("before: %d", status);
  CHECK(cu.cuStreamBeginCapture_v2(main_stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cu.cuMemcpyHtoDAsync_v2(memory, in.data(), kBytes, main_stream));
  CHECK(cu.cuEventRecord(forked, main_stream));
  CHECK(cu.cuStreamWaitEvent(side_stream, forked, 0));
  CHECK(launch(add, 2, 128, main_stream, memory, kCount, 5u));
  CHECK(launch(add, 2, 128, side_stream, memory + kBytes, kCount, 7u));
  CHECK(cu.cuStreamIsCapturing(side_stream, &status));
  say("side stream: %d", status);
  CHECK(cu.cuEventRecord(joined, side_stream));
  CHECK(cu.cuStreamWaitEvent(main_stream, joined, 0));
  CHECK(cu.cuLaunchHostFunc(main_stream, count_call, nullptr));
  CHECK(cu.cuMemcpyDtoHAsync_v2(out.data(), memory, kBytes, main_stream));
  CUgraph graph{};
  CHECK(cu.cuStreamEndCapture(main_stream, &graph));
  CHECK(cu.cuStreamIsCapturing(side_stream, &status));
  say("after: %d", status);

  size_t nodes = 0;
  size_t edges = 0;
  CHECK(cu.cuGraphGetNodes(graph, nullptr, &nodes));
  CHECK(cu.cuGraphGetEdges(graph, nullptr, nullptr, &edges));
  say("captured: %zu nodes, %zu edges", nodes, edges);
  std::vector<CUgraphNode> handles(nodes);
  CHECK(cu.cuGraphGetNodes(graph, handles.data(), &nodes));
  unsigned kinds[16] = {};
  for (const CUgraphNode node : handles) {
    CUgraphNodeType type{};
    CHECK(cu.cuGraphNodeGetType(node, &type));
    kinds[type]++;
    if (type != CU_GRAPH_NODE_TYPE_KERNEL) continue;
    CUDA_KERNEL_NODE_PARAMS_v2 params{};
    CHECK(cu.cuGraphKernelNodeGetParams_v2(node, &params));
    EXPECT(params.func == add && params.gridDimX == 2);
  }
  say("kernels %u, copies %u, host functions %u", kinds[CU_GRAPH_NODE_TYPE_KERNEL],
      kinds[CU_GRAPH_NODE_TYPE_MEMCPY], kinds[CU_GRAPH_NODE_TYPE_HOST]);

  CUgraphExec exec{};
  CHECK(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(cu.cuGraphDestroy(graph));
  for (unsigned round = 0; round < 3; round++) {
    in.assign(kCount, round);
    CHECK(cu.cuGraphLaunch(exec, main_stream));
    CHECK(cu.cuStreamSynchronize(main_stream));
    say("launch %u: %u, %d calls", round, out[kCount - 1], calls);
  }
  std::vector<unsigned> side(kCount);
  CHECK(cu.cuMemcpyDtoH_v2(side.data(), memory + kBytes, kBytes));
  say("side: %u", side[0]);

  // What a capture forbids, and what comes of it.
  CUgraph none{};
  EXPECT_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                cu.cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(cu.cuStreamBeginCapture_v2(main_stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(launch(add, 2, 128, main_stream, memory, kCount, 1u));
  CUdeviceptr more = 0;
  say("allocation: %s", error_name(cu.cuMemAlloc_v2(&more, 1024)).c_str());
  say("end: %s", error_name(cu.cuStreamEndCapture(main_stream, &none)).c_str());
  CHECK(cu.cuStreamBeginCapture_v2(main_stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(cu.cuMemAlloc_v2(&more, 1024));
  say("wait: %s", error_name(cu.cuStreamSynchronize(main_stream)).c_str());
  say("end: %s", error_name(cu.cuStreamEndCapture(main_stream, &none)).c_str());
  CHECK(cu.cuMemFree_v2(more));
  CHECK(cu.cuStreamBeginCapture_v2(main_stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(cu.cuEventRecord(forked, main_stream));
  CHECK(cu.cuStreamWaitEvent(side_stream, forked, 0));
  CHECK(launch(add, 2, 128, side_stream, memory, kCount, 1u));
  say("not joined: %s", error_name(cu.cuStreamEndCapture(main_stream, &none)).c_str());

  // Many nodes, many launches.
  CHECK(CU(cuMemsetD32_v2)(memory, 0, kCount));
  CHECK(cu.cuCtxSynchronize());
  CHECK(cu.cuStreamBeginCapture_v2(main_stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  for (unsigned i = 0; i < 1000; i++) CHECK(launch(add, 2, 128, main_stream, memory, kCount, 1u));
  CHECK(cu.cuStreamEndCapture(main_stream, &graph));
  CUgraphExec large{};
  CHECK(cu.cuGraphInstantiateWithFlags(&large, graph, 0));
  for (unsigned i = 0; i < 20; i++) CHECK(cu.cuGraphLaunch(large, main_stream));
  CHECK(cu.cuStreamSynchronize(main_stream));
  CHECK(cu.cuMemcpyDtoH_v2(out.data(), memory, kBytes));
  say("20 launches of 1,000 kernels: %u", out[3]);
  CHECK(cu.cuGraphExecDestroy(large));
  CHECK(cu.cuGraphExecDestroy(exec));
  CHECK(cu.cuGraphDestroy(graph));
  CHECK(cu.cuMemFree_v2(memory));
  return 0;
}
