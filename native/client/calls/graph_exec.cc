// Executable graphs. Making one takes a round trip, because the program acts on its error; everything after
// it takes none.
#include "client/captures.h"
#include "client/graph_scope.h"
#include "client/stats.h"
#include "client/task_order.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

constexpr uint64_t kCarriedFlags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                   CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                   CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

CUresult instantiate(CUgraphExec* out, CUgraph handle, CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  params->hErrNode_out = nullptr;
  params->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
  GraphScope scope;
  Graph* graph = nullptr;
  if (CUresult error = scope.begin(handle, &graph)) return error;
  // A graph that is launched by a kernel has no client that could be told of its tasks.
  if (params->flags == CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) return CUDA_ERROR_NOT_SUPPORTED;
  if ((params->flags & ~kCarriedFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  Stream* stream = nullptr;
  if ((params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0) {
    if (CUresult error = scope.find(params->hUploadStream, &stream)) return error;
  }
  GraphExec* exec = nullptr;
  if (scope.session->graph_execs.mint(&exec) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  exec->belong_to(scope.context);
  exec->flags = params->flags;
  exec->kept = std::make_shared<const GraphKept>(root_of(*graph).kept);
  wire::SyncFrame<20> frame(CallId::cuGraphInstantiateWithParams);
  frame.put(exec->index);
  frame.put(graph->index);
  frame.put(uint64_t{params->flags});
  frame.put(stream ? stream->index : 0);
  wire::FixedReply<12> reply;
  const CUresult result = scope.call(frame, reply);
  params->result_out = static_cast<CUgraphInstantiateResult>(reply.get<int32_t>());
  const GraphNode* node = scope.session->graph_nodes.at_index(reply.get<uint32_t>());
  if (node != nullptr) params->hErrNode_out = static_cast<CUgraphNode>(node->handle);
  if (result != CUDA_SUCCESS) {
    if (params->result_out == CUDA_GRAPH_INSTANTIATE_SUCCESS)
      params->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
    exec->kept.reset();
    scope.session->graph_execs.release(exec);
    return result;
  }
  *out = static_cast<CUgraphExec>(exec->handle);
  return CUDA_SUCCESS;
}

// Changes what later launches use; launches that run keep theirs.
template <typename Change>
void change_kept(GraphExec& exec, Change&& change) {
  auto kept = std::make_shared<GraphKept>(*exec.kept);
  change(*kept);
  exec.kept = std::move(kept);
}

// A copy may get other addresses but not other kinds of memory.
bool same_places(const NodeData& before, const NodeData& after) {
  if ((before.task == nullptr) != (after.task == nullptr)) return false;
  return before.task == nullptr || !before.task->is_copy ||
         (before.task->copy.srcMemoryType == after.task->copy.srcMemoryType &&
          before.task->copy.dstMemoryType == after.task->copy.dstMemoryType);
}

template <typename Change>
CUresult set(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeType type, bool given, Change&& change) {
  if (!given) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams params{};
  params.type = type;
  change(params);
  return cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

}  // namespace

CUresult cuGraphInstantiateWithParams(CUgraphExec* phGraphExec, CUgraph hGraph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams) {
  if (phGraphExec == nullptr || instantiateParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return instantiate(phGraphExec, hGraph, instantiateParams);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* phGraphExec, CUgraph hGraph, unsigned long long flags) {
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  params.flags = flags;
  return cuGraphInstantiateWithParams(phGraphExec, hGraph, &params);
}

CUresult cuGraphInstantiate_v2(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode,
                               char* logBuffer, size_t bufferSize) {
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  const CUresult result = cuGraphInstantiateWithParams(phGraphExec, hGraph, &params);
  if (phErrorNode != nullptr) *phErrorNode = params.hErrNode_out;
  if (logBuffer != nullptr && bufferSize > 0) *logBuffer = '\0';
  return result;
}

CUresult cuGraphInstantiate(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode,
                            char* logBuffer, size_t bufferSize) {
  return cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult cuGraphExecDestroy(CUgraphExec hGraphExec) {
  GraphScope scope;
  GraphExec* exec = nullptr;
  if (CUresult error = scope.begin(hGraphExec, &exec)) return error;
  wire::AsyncFrame<4> frame(CallId::cuGraphExecDestroy);
  frame.put(exec->index);
  const CUresult result = scope.post(frame);
  exec->kept.reset();
  exec->disabled.clear();
  scope.session->graph_execs.release(exec);
  return result;
}

CUresult cuGraphExecGetFlags(CUgraphExec hGraphExec, unsigned long long* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  GraphExec* exec = nullptr;
  if (CUresult error = scope.begin(hGraphExec, &exec)) return error;
  *flags = exec->flags;
  return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream) {
  GraphScope scope;
  GraphExec* exec = nullptr;
  Stream* stream = nullptr;
  if (CUresult error = scope.begin(hGraphExec, &exec)) return error;
  if (CUresult error = scope.find(hStream, &stream)) return error;
  if (stream != nullptr && stream->context->channel != scope.channel) return CUDA_ERROR_INVALID_HANDLE;
  wire::AsyncFrame<8> frame(CallId::cuGraphUpload);
  frame.put(exec->index);
  frame.put(stream ? stream->index : 0);
  return scope.post(frame);
}

CUresult cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream) {
  Scope scope;
  GraphExec* exec = nullptr;
  Stream* stream = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(hGraphExec, &exec)) return error;
  if (CUresult error = scope.find(hStream, &stream)) return error;
  if (CUresult error = scope.need_context()) return error;
  if (exec->context->channel != scope.channel ||
      (stream != nullptr && stream->context->channel != scope.channel))
    return CUDA_ERROR_INVALID_HANDLE;
  stats().launches.fetch_add(1, std::memory_order_relaxed);
  if (scope.capture != 0 || !exec->kept->must_be_told()) {
    if (Capture capture; scope.capture != 0 && scope.session->captures.find(scope.capture, &capture)) {
      const std::lock_guard lock(scope.session->graph_mutex);
      keep_all(root_of(*capture.graph).kept, *exec->kept);
    }
    wire::AsyncFrame<8> frame(CallId::cuGraphLaunch);
    frame.put(exec->index);
    frame.put(stream ? stream->index : 0);
    return scope.post(frame);
  }
  HostTask done;
  done.channel = scope.channel;
  done.keeps = exec->kept;
  const uint32_t number = scope.session->tasks.add(done);
  wire::AsyncFrame<12> frame(CallId::cuGraphLaunch);
  frame.put(exec->index);
  frame.put(stream ? stream->index : 0);
  frame.put(number);
  if (CUresult error = scope.post(frame)) {
    scope.session->tasks.forget(number);
    return error;
  }
  order_after(*scope.context, stream, number);
  return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                              CUgraphExecUpdateResultInfo* resultInfo) {
  if (resultInfo == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  GraphExec* exec = nullptr;
  Graph* graph = nullptr;
  if (CUresult error = scope.begin(hGraphExec, &exec)) return error;
  if (CUresult error = scope.find(hGraph, &graph)) return error;
  wire::SyncFrame<8> frame(CallId::cuGraphExecUpdate_v2);
  frame.put(exec->index);
  frame.put(graph->index);
  wire::FixedReply<16> reply;
  const CUresult result = scope.call(frame, reply);
  *resultInfo = {static_cast<CUgraphExecUpdateResult>(reply.get<int32_t>()), nullptr, nullptr};
  for (CUgraphNode* node : {&resultInfo->errorNode, &resultInfo->errorFromNode}) {
    const GraphNode* known = scope.session->graph_nodes.at_index(reply.get<uint32_t>());
    if (known != nullptr) *node = static_cast<CUgraphNode>(known->handle);
  }
  if (result == CUDA_SUCCESS) {
    exec->kept = std::make_shared<const GraphKept>(root_of(*graph).kept);
  } else if (resultInfo->result == CU_GRAPH_EXEC_UPDATE_SUCCESS) {
    resultInfo->result = CU_GRAPH_EXEC_UPDATE_ERROR;
  }
  return result;
}

CUresult cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode* hErrorNode_out,
                           CUgraphExecUpdateResult* updateResult_out) {
  if (updateResult_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphExecUpdateResultInfo info{};
  const CUresult result = cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);
  if (hErrorNode_out != nullptr) *hErrorNode_out = info.errorNode;
  *updateResult_out = info.result;
  return result;
}

CUresult cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  GraphExec* exec = nullptr;
  GraphNode* node = nullptr;
  if (CUresult error = scope.begin(hGraphExec, &exec)) return error;
  if (CUresult error = scope.find(hNode, &node)) return error;
  if (nodeParams->type != node->data.params.type) return CUDA_ERROR_INVALID_VALUE;
  NodeData filled;
  filled.params = *nodeParams;
  wire::GraphNode sent;
  if (CUresult error = to_wire(scope, &filled, &sent)) return error;
  if (!same_places(node->data, filled)) return CUDA_ERROR_INVALID_VALUE;
  wire::DynamicFrame frame(CallId::cuGraphExecNodeSetParams);
  frame.arguments().put(exec->index);
  frame.arguments().put(node->index);
  wire::put_node(frame.arguments(), sent);
  frame.complete();
  if (CUresult error = scope.post(frame)) return error;
  if (filled.task != nullptr) {
    change_kept(*exec, [&](GraphKept& kept) { keep_task(kept, node->index, filled.task); });
  } else if (nodeParams->type == CU_GRAPH_NODE_TYPE_GRAPH) {
    const Graph* child = scope.session->graphs.find(nodeParams->graph.graph);
    change_kept(*exec, [&](GraphKept& kept) { keep_all(kept, root_of(const_cast<Graph&>(*child)).kept); });
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                           const CUDA_KERNEL_NODE_PARAMS_v2* nodeParams) {
  return set(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams,
             [&](auto& params) { params.kernel = *nodeParams; });
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  return set(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams,
             [&](auto& params) { std::memcpy(&params.kernel, nodeParams, sizeof *nodeParams); });
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_MEMCPY3D* nodeParams, CUcontext ctx) {
  return set(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams, [&](auto& params) {
    params.memcpy.copyParams = *nodeParams;
    params.memcpy.copyCtx = ctx;
  });
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_MEMSET_NODE_PARAMS* nodeParams, CUcontext ctx) {
  return set(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams, [&](auto& params) {
    std::memcpy(&params.memset, nodeParams, sizeof *nodeParams);
    params.memset.ctx = ctx;
  });
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                      const CUDA_HOST_NODE_PARAMS* nodeParams) {
  return set(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_HOST, nodeParams, [&](auto& params) {
    params.host.fn = nodeParams->fn;
    params.host.userData = nodeParams->userData;
  });
}

CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams) {
  return set(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, nodeParams,
             [&](auto& params) { params.memOp = *nodeParams; });
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph) {
  return set(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_GRAPH, true,
             [&](auto& params) { params.graph.graph = childGraph; });
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event) {
  return set(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, true,
             [&](auto& params) { params.eventRecord.event = event; });
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event) {
  return set(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, true,
             [&](auto& params) { params.eventWait.event = event; });
}

CUresult cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled) {
  GraphScope scope;
  GraphExec* exec = nullptr;
  GraphNode* node = nullptr;
  if (CUresult error = scope.begin(hGraphExec, &exec)) return error;
  if (CUresult error = scope.find(hNode, &node)) return error;
  const CUgraphNodeType type = node->data.params.type;
  if (type != CU_GRAPH_NODE_TYPE_KERNEL && type != CU_GRAPH_NODE_TYPE_MEMCPY &&
      type != CU_GRAPH_NODE_TYPE_MEMSET)
    return CUDA_ERROR_INVALID_VALUE;
  wire::AsyncFrame<12> frame(CallId::cuGraphNodeSetEnabled);
  frame.put(exec->index);
  frame.put(node->index);
  frame.put(uint32_t{isEnabled});
  if (CUresult error = scope.post(frame)) return error;
  if (isEnabled != 0) {
    exec->disabled.erase(node->index);
  } else {
    exec->disabled.insert(node->index);
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int* isEnabled) {
  if (isEnabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  GraphExec* exec = nullptr;
  GraphNode* node = nullptr;
  if (CUresult error = scope.begin(hGraphExec, &exec)) return error;
  if (CUresult error = scope.find(hNode, &node)) return error;
  const CUgraphNodeType type = node->data.params.type;
  if (type != CU_GRAPH_NODE_TYPE_KERNEL && type != CU_GRAPH_NODE_TYPE_MEMCPY &&
      type != CU_GRAPH_NODE_TYPE_MEMSET)
    return CUDA_ERROR_INVALID_VALUE;
  *isEnabled = exec->disabled.contains(node->index) ? 0 : 1;
  return CUDA_SUCCESS;
}

}  // namespace sluice::client::calls
