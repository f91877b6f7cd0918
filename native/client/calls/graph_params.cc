// Parameters of nodes: asked for locally, changed without waiting.
#include <algorithm>
#include <cstring>

#include "client/graph_scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

// Calls `read` with the parameters of a node of that type.
template <typename Read>
CUresult get(CUgraphNode hNode, CUgraphNodeType type, bool wanted, Read&& read) {
  if (!wanted) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  GraphNode* node = nullptr;
  if (CUresult error = scope.begin(hNode, &node)) return error;
  if (node->data.params.type != type) return CUDA_ERROR_INVALID_VALUE;
  read(node->data.params);
  return CUDA_SUCCESS;
}

// Sets parameters; `change` fills those of the node's type in.
template <typename Change>
CUresult set(CUgraphNode hNode, CUgraphNodeType type, bool given, Change&& change) {
  if (!given) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams params{};
  params.type = type;
  change(params);
  return cuGraphNodeSetParams(hNode, &params);
}

}  // namespace

CUresult cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  GraphNode* node = nullptr;
  if (CUresult error = scope.begin(hNode, &node)) return error;
  switch (nodeParams->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (nodeParams->type != node->data.params.type) return CUDA_ERROR_INVALID_VALUE;
  NodeData filled;
  filled.params = *nodeParams;
  wire::GraphNode sent;
  if (CUresult error = to_wire(scope, &filled, &sent)) return error;
  wire::DynamicFrame frame(CallId::cuGraphNodeSetParams);
  frame.arguments().put(node->index);
  wire::put_node(frame.arguments(), sent);
  frame.complete();
  if (CUresult error = scope.post(frame)) return error;
  node->data = std::move(filled);
  keep_task(root_of(*node->graph).kept, node->index, node->data.task);
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetParams(CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  GraphNode* node = nullptr;
  if (CUresult error = scope.begin(hNode, &node)) return error;
  *nodeParams = node->data.params;
  return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v2* nodeParams) {
  return get(hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams,
             [&](auto& params) { *nodeParams = params.kernel; });
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  return get(hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams, [&](auto& params) {
    // The first version is the beginning of the second.
    std::memcpy(nodeParams, &params.kernel, sizeof *nodeParams);
    if (nodeParams->func == nullptr) nodeParams->func = reinterpret_cast<CUfunction>(params.kernel.kern);
  });
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v2* nodeParams) {
  return set(hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams,
             [&](auto& params) { params.kernel = *nodeParams; });
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  return set(hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams,
             [&](auto& params) { std::memcpy(&params.kernel, nodeParams, sizeof *nodeParams); });
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D* nodeParams) {
  return get(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams,
             [&](auto& params) { *nodeParams = params.memcpy.copyParams; });
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D* nodeParams) {
  return set(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams,
             [&](auto& params) { params.memcpy.copyParams = *nodeParams; });
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS* nodeParams) {
  return get(hNode, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams,
             [&](auto& params) { std::memcpy(nodeParams, &params.memset, sizeof *nodeParams); });
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS* nodeParams) {
  return set(hNode, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams,
             [&](auto& params) { std::memcpy(&params.memset, nodeParams, sizeof *nodeParams); });
}

CUresult cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS* nodeParams) {
  return get(hNode, CU_GRAPH_NODE_TYPE_HOST, nodeParams, [&](auto& params) {
    nodeParams->fn = params.host.fn;
    nodeParams->userData = params.host.userData;
  });
}

CUresult cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS* nodeParams) {
  return set(hNode, CU_GRAPH_NODE_TYPE_HOST, nodeParams, [&](auto& params) {
    params.host.fn = nodeParams->fn;
    params.host.userData = nodeParams->userData;
  });
}

CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode, CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams) {
  return get(hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, nodeParams,
             [&](auto& params) { *nodeParams = params.memOp; });
}

CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode hNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams) {
  return set(hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, nodeParams,
             [&](auto& params) { params.memOp = *nodeParams; });
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent* event_out) {
  return get(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out,
             [&](auto& params) { *event_out = params.eventRecord.event; });
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event) {
  return set(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, true,
             [&](auto& params) { params.eventRecord.event = event; });
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent* event_out) {
  return get(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out,
             [&](auto& params) { *event_out = params.eventWait.event; });
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event) {
  return set(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, true,
             [&](auto& params) { params.eventWait.event = event; });
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS* params_out) {
  return get(hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC, params_out,
             [&](auto& params) { *params_out = params.alloc; });
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr* dptr_out) {
  return get(hNode, CU_GRAPH_NODE_TYPE_MEM_FREE, dptr_out,
             [&](auto& params) { *dptr_out = params.free.dptr; });
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src) {
  GraphScope scope;
  GraphNode* to = nullptr;
  GraphNode* from = nullptr;
  if (CUresult error = scope.begin(dst, &to)) return error;
  if (CUresult error = scope.find(src, &from)) return error;
  for (const GraphNode* node : {to, from}) {
    if (node->data.params.type != CU_GRAPH_NODE_TYPE_KERNEL) return CUDA_ERROR_INVALID_VALUE;
  }
  wire::AsyncFrame<8> frame(CallId::cuGraphKernelNodeCopyAttributes);
  frame.put(to->index);
  frame.put(from->index);
  return scope.post(frame);
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUlaunchAttributeID attr,
                                       CUlaunchAttributeValue* value_out) {
  if (value_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  GraphNode* node = nullptr;
  if (CUresult error = scope.begin(hNode, &node)) return error;
  if (node->data.params.type != CU_GRAPH_NODE_TYPE_KERNEL) return CUDA_ERROR_INVALID_VALUE;
  wire::SyncFrame<8> frame(CallId::cuGraphKernelNodeGetAttribute);
  frame.put(node->index);
  frame.put(static_cast<uint32_t>(attr));
  Reply reply{value_out, sizeof *value_out};
  if (CUresult error = scope.call_raw(frame.data(), frame.size(), &reply)) return error;
  return reply.received == sizeof *value_out ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUlaunchAttributeID attr,
                                       const CUlaunchAttributeValue* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  GraphNode* node = nullptr;
  if (CUresult error = scope.begin(hNode, &node)) return error;
  if (node->data.params.type != CU_GRAPH_NODE_TYPE_KERNEL) return CUDA_ERROR_INVALID_VALUE;
  if (attr == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT || attr == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT ||
      attr == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  wire::DynamicFrame frame(CallId::cuGraphKernelNodeSetAttribute);
  frame.arguments().put(node->index);
  frame.arguments().put(static_cast<uint32_t>(attr));
  frame.arguments().bytes(value, sizeof *value);
  frame.complete();
  return scope.post(frame);
}

CUresult cuGraphConditionalHandleCreate(unsigned long long* pHandle_out, CUgraph hGraph, CUcontext ctx,
                                        unsigned int defaultLaunchValue, unsigned int flags) {
  if (pHandle_out == nullptr || flags > CU_GRAPH_COND_ASSIGN_DEFAULT) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  Graph* graph = nullptr;
  if (CUresult error = scope.begin(hGraph, &graph)) return error;
  uint32_t context_index = scope.context_index();
  if (ctx != nullptr) {
    if (CUresult error = scope.resolve(ctx, &context_index)) return error;
  }
  wire::SyncFrame<16> frame(CallId::cuGraphConditionalHandleCreate);
  frame.put(graph->index);
  frame.put(context_index);
  frame.put(uint32_t{defaultLaunchValue});
  frame.put(uint32_t{flags});
  wire::FixedReply<8> reply;
  if (CUresult error = scope.call(frame, reply)) return error;
  *pHandle_out = reply.get<uint64_t>();
  return reply.complete() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

}  // namespace sluice::client::calls
