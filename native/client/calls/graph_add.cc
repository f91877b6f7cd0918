// The calls that add a node of one kind each.
#include "generated/client_calls.h"

namespace sluice::client::calls {
namespace {

CUgraphNodeParams of_kind(CUgraphNodeType type) {
  CUgraphNodeParams params{};
  params.type = type;
  return params;
}

}  // namespace

CUresult cuGraphAddNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                        size_t numDependencies, CUgraphNodeParams* nodeParams) {
  return cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, nullptr, numDependencies, nodeParams);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                 size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS_v2* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams params = of_kind(CU_GRAPH_NODE_TYPE_KERNEL);
  params.kernel = *nodeParams;
  return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphAddKernelNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                              size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS_v1& p = *nodeParams;
  const CUDA_KERNEL_NODE_PARAMS_v2 params{p.func,         p.gridDimX,  p.gridDimY,  p.gridDimZ,
                                          p.blockDimX,    p.blockDimY, p.blockDimZ, p.sharedMemBytes,
                                          p.kernelParams, p.extra,     nullptr,     nullptr};
  return cuGraphAddKernelNode_v2(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                              size_t numDependencies, const CUDA_MEMCPY3D* copyParams, CUcontext ctx) {
  if (copyParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams params = of_kind(CU_GRAPH_NODE_TYPE_MEMCPY);
  params.memcpy.copyParams = *copyParams;
  params.memcpy.copyCtx = ctx;
  return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphAddMemsetNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                              size_t numDependencies, const CUDA_MEMSET_NODE_PARAMS* memsetParams,
                              CUcontext ctx) {
  if (memsetParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_MEMSET_NODE_PARAMS& p = *memsetParams;
  CUgraphNodeParams params = of_kind(CU_GRAPH_NODE_TYPE_MEMSET);
  params.memset = {p.dst, p.pitch, p.value, p.elementSize, p.width, p.height, ctx};
  return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphAddHostNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                            size_t numDependencies, const CUDA_HOST_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams params = of_kind(CU_GRAPH_NODE_TYPE_HOST);
  params.host.fn = nodeParams->fn;
  params.host.userData = nodeParams->userData;
  return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                  size_t numDependencies, CUgraph childGraph) {
  CUgraphNodeParams params = of_kind(CU_GRAPH_NODE_TYPE_GRAPH);
  params.graph.graph = childGraph;
  return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphAddEmptyNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                             size_t numDependencies) {
  CUgraphNodeParams params = of_kind(CU_GRAPH_NODE_TYPE_EMPTY);
  return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                   size_t numDependencies, CUevent event) {
  CUgraphNodeParams params = of_kind(CU_GRAPH_NODE_TYPE_EVENT_RECORD);
  params.eventRecord.event = event;
  return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                 size_t numDependencies, CUevent event) {
  CUgraphNodeParams params = of_kind(CU_GRAPH_NODE_TYPE_WAIT_EVENT);
  params.eventWait.event = event;
  return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphAddMemAllocNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams params = of_kind(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  params.alloc = *nodeParams;
  const CUresult result = cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
  if (result == CUDA_SUCCESS) nodeParams->dptr = params.alloc.dptr;
  return result;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                               size_t numDependencies, CUdeviceptr dptr) {
  CUgraphNodeParams params = of_kind(CU_GRAPH_NODE_TYPE_MEM_FREE);
  params.free.dptr = dptr;
  return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphAddBatchMemOpNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                  size_t numDependencies, const CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams params = of_kind(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
  params.memOp = *nodeParams;
  return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

}  // namespace sluice::client::calls
