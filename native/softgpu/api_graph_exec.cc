// Instantiated graphs: making, changing, launching them.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/graph/capture.h"
#include "softgpu/graph/exec.h"
#include "softgpu/graph/node_params.h"

namespace sluice::softgpu {
namespace {

template <typename Body>
CUresult graph_api(Body&& body) noexcept {
  return api([&]() -> CUresult {
    const std::lock_guard lock(graph_mutex());
    return body();
  });
}

std::unordered_map<const GraphExec*, std::unique_ptr<GraphExec>>& execs() {
  static auto* all = new std::unordered_map<const GraphExec*, std::unique_ptr<GraphExec>>;
  return *all;
}

CUresult instantiate(CUgraphExec* out, CUgraph handle, unsigned long long flags, CUgraphNode* error_node,
                     CUgraphInstantiateResult* why) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto* graph = lookup<Graph>(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context = nullptr;
  SLUICE_TRY(healthy_context(&context));
  std::unique_ptr<GraphExec> exec;
  Node* bad = nullptr;
  CUgraphInstantiateResult reason{};
  const CUresult result = GraphExec::create(*graph, *context, flags, &bad, &reason, &exec);
  if (error_node != nullptr) *error_node = bad ? bad->handle() : nullptr;
  if (why != nullptr) *why = reason;
  if (result != CUDA_SUCCESS) return result;
  *out = exec->handle();
  const GraphExec* key = exec.get();
  execs()[key] = std::move(exec);
  return CUDA_SUCCESS;
}

CUresult find_exec(CUgraphExec handle, GraphExec** out) {
  *out = lookup<GraphExec>(handle);
  return *out == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// The instantiated copy of a graph's node.
CUresult find_own(CUgraphExec exec_handle, CUgraphNode node_handle, GraphExec** exec, Node** own) {
  SLUICE_TRY(find_exec(exec_handle, exec));
  const auto* original = lookup<Node>(node_handle);
  if (original == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *own = (*exec)->node(*original);
  return *own == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

template <typename Make>
CUresult change(CUgraphExec exec_handle, CUgraphNode node_handle, const void* given, const Make& make) {
  return graph_api([&]() -> CUresult {
    GraphExec* exec = nullptr;
    Node* own = nullptr;
    if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
    SLUICE_TRY(find_own(exec_handle, node_handle, &exec, &own));
    Work made;
    SLUICE_TRY(make(*own, &made));
    return exec->set_work(*own, std::move(made));
  });
}

CUresult launch(CUgraphExec handle, CUstream stream_handle) {
  std::shared_ptr<Stream> stream;
  if (const auto* own = lookup<Stream>(stream_handle); own != nullptr) {
    SLUICE_TRY(own->context->resolve_stream(stream_handle, &stream));
  } else {
    Context* context = nullptr;
    SLUICE_TRY(current_context(&context));
    SLUICE_TRY(context->resolve_stream(stream_handle, &stream));
  }
  const std::lock_guard lock(graph_mutex());
  GraphExec* exec = nullptr;
  SLUICE_TRY(find_exec(handle, &exec));
  CUresult result = CUDA_SUCCESS;
  const auto as_child = [&](Work* work) {
    ChildWork child{exec->plan->clone()};
    child.graph->is_child = true;
    *work = std::move(child);
    return CUDA_SUCCESS;
  };
  return captured(*stream, as_child, &result) ? result : exec->launch(*stream);
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuGraphInstantiate(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log,
                              size_t log_bytes) {
  return graph_api([&]() -> CUresult {
    if (log != nullptr && log_bytes > 0) log[0] = '\0';
    return instantiate(out, graph, 0, error_node, nullptr);
  });
}
SLUICE_API cuGraphInstantiate_v2(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log,
                                 size_t log_bytes) {
  return cuGraphInstantiate(out, graph, error_node, log, log_bytes);
}
SLUICE_API cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph, unsigned long long flags) {
  return graph_api([&] { return instantiate(out, graph, flags, nullptr, nullptr); });
}
SLUICE_API cuGraphInstantiateWithParams(CUgraphExec* out, CUgraph graph,
                                        CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  return graph_api([&]() -> CUresult {
    if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return instantiate(out, graph, params->flags, &params->hErrNode_out, &params->result_out);
  });
}
SLUICE_API cuGraphExecGetFlags(CUgraphExec handle, unsigned long long* flags) {
  return graph_api([&]() -> CUresult {
    GraphExec* exec = nullptr;
    SLUICE_TRY(find_exec(handle, &exec));
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = exec->flags;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuGraphExecGetId(CUgraphExec handle, unsigned* id) {
  return graph_api([&]() -> CUresult {
    GraphExec* exec = nullptr;
    SLUICE_TRY(find_exec(handle, &exec));
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *id = exec->plan->id;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuGraphExecDestroy(CUgraphExec handle) {
  return graph_api([&]() -> CUresult {
    GraphExec* exec = nullptr;
    SLUICE_TRY(find_exec(handle, &exec));
    execs().erase(exec);
    return CUDA_SUCCESS;
  });
}

SLUICE_API_PAIR(cuGraphLaunch, _ptsz, (CUgraphExec exec, CUstream stream), return launch(exec, pick(stream));)
// Everything is where it is needed already.
SLUICE_API_PAIR(cuGraphUpload, _ptsz, (CUgraphExec handle, CUstream), static_cast<void>(pick);
                const std::lock_guard lock(graph_mutex()); GraphExec* exec = nullptr;
                return find_exec(handle, &exec);)

SLUICE_API cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo* info) {
  return graph_api([&]() -> CUresult {
    GraphExec* exec = nullptr;
    SLUICE_TRY(find_exec(handle, &exec));
    const auto* graph = lookup<Graph>(graph_handle);
    if (graph == nullptr || info == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return exec->update(*graph, info);
  });
}
SLUICE_API cuGraphExecUpdate(CUgraphExec handle, CUgraph graph, CUgraphNode* error_node,
                             CUgraphExecUpdateResult* result_out) {
  CUgraphExecUpdateResultInfo info{};
  const CUresult result = cuGraphExecUpdate_v2(handle, graph, &info);
  if (error_node != nullptr) *error_node = info.errorNode;
  if (result_out != nullptr) *result_out = info.result;
  return result;
}

SLUICE_API cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                             const CUDA_KERNEL_NODE_PARAMS_v2* given) {
  return change(exec, node, given, [&](Node&, Work* made) { return make_kernel_work(*given, made); });
}
SLUICE_API cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                          const CUDA_KERNEL_NODE_PARAMS_v1* given) {
  return change(exec, node, given, [&](Node&, Work* made) { return make_kernel_work(widen(*given), made); });
}
SLUICE_API cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* given,
                                          CUcontext context) {
  return change(exec, node, given, [&](Node&, Work* made) { return make_copy_work(*given, context, made); });
}
SLUICE_API cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                          const CUDA_MEMSET_NODE_PARAMS* given, CUcontext context) {
  return change(exec, node, given,
                [&](Node&, Work* made) { return make_fill_work(widen(*given, context), made); });
}
SLUICE_API cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_HOST_NODE_PARAMS* given) {
  return change(exec, node, given, [&](Node&, Work* made) { return make_host_work(*given, made); });
}
SLUICE_API cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  return change(exec, node, child, [&](Node&, Work* made) {
    return make_child_work({child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE}, made);
  });
}
SLUICE_API cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return change(exec, node, event, [&](Node&, Work* made) { return make_event_work(event, true, made); });
}
SLUICE_API cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return change(exec, node, event, [&](Node&, Work* made) { return make_event_work(event, false, made); });
}
SLUICE_API cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* given) {
  return change(exec, node, given, [&](Node& own, Work* made) {
    return given->type == own.type() ? make_work(*given, made) : CUDA_ERROR_INVALID_VALUE;
  });
}

SLUICE_API cuGraphNodeSetEnabled(CUgraphExec exec_handle, CUgraphNode node, unsigned enabled) {
  return graph_api([&]() -> CUresult {
    GraphExec* exec = nullptr;
    Node* own = nullptr;
    SLUICE_TRY(find_own(exec_handle, node, &exec, &own));
    const CUgraphNodeType type = own->type();
    if (type != CU_GRAPH_NODE_TYPE_KERNEL && type != CU_GRAPH_NODE_TYPE_MEMCPY &&
        type != CU_GRAPH_NODE_TYPE_MEMSET) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    own->enabled = enabled != 0;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuGraphNodeGetEnabled(CUgraphExec exec_handle, CUgraphNode node, unsigned* enabled) {
  return graph_api([&]() -> CUresult {
    GraphExec* exec = nullptr;
    Node* own = nullptr;
    SLUICE_TRY(find_own(exec_handle, node, &exec, &own));
    if (enabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *enabled = own->enabled ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

namespace sluice::softgpu {

std::span<const Entry> graph_exec_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuGraphInstantiate", 10000, cuGraphInstantiate),
      SLUICE_ENTRY("cuGraphInstantiate", 11000, cuGraphInstantiate_v2),
      SLUICE_ENTRY("cuGraphInstantiateWithFlags", 11040, cuGraphInstantiateWithFlags),
      SLUICE_ENTRY("cuGraphInstantiate", 12000, cuGraphInstantiateWithFlags),
      SLUICE_ENTRY("cuGraphInstantiateWithParams", 12000, cuGraphInstantiateWithParams),
      SLUICE_ENTRY("cuGraphExecGetFlags", 12000, cuGraphExecGetFlags),
      SLUICE_ENTRY("cuGraphExecGetId", 13010, cuGraphExecGetId),
      SLUICE_ENTRY("cuGraphExecDestroy", 10000, cuGraphExecDestroy),
      SLUICE_ENTRY_PAIR("cuGraphLaunch", 10000, cuGraphLaunch, _ptsz),
      SLUICE_ENTRY_PAIR("cuGraphUpload", 11010, cuGraphUpload, _ptsz),
      SLUICE_ENTRY("cuGraphExecUpdate", 10020, cuGraphExecUpdate),
      SLUICE_ENTRY("cuGraphExecUpdate", 12000, cuGraphExecUpdate_v2),
      SLUICE_ENTRY("cuGraphExecKernelNodeSetParams", 10010, cuGraphExecKernelNodeSetParams),
      SLUICE_ENTRY("cuGraphExecKernelNodeSetParams", 12000, cuGraphExecKernelNodeSetParams_v2),
      SLUICE_ENTRY("cuGraphExecMemcpyNodeSetParams", 10020, cuGraphExecMemcpyNodeSetParams),
      SLUICE_ENTRY("cuGraphExecMemsetNodeSetParams", 10020, cuGraphExecMemsetNodeSetParams),
      SLUICE_ENTRY("cuGraphExecHostNodeSetParams", 10020, cuGraphExecHostNodeSetParams),
      SLUICE_ENTRY("cuGraphExecChildGraphNodeSetParams", 11010, cuGraphExecChildGraphNodeSetParams),
      SLUICE_ENTRY("cuGraphExecEventRecordNodeSetEvent", 11010, cuGraphExecEventRecordNodeSetEvent),
      SLUICE_ENTRY("cuGraphExecEventWaitNodeSetEvent", 11010, cuGraphExecEventWaitNodeSetEvent),
      SLUICE_ENTRY("cuGraphExecNodeSetParams", 12020, cuGraphExecNodeSetParams),
      SLUICE_ENTRY("cuGraphNodeSetEnabled", 11060, cuGraphNodeSetEnabled),
      SLUICE_ENTRY("cuGraphNodeGetEnabled", 11060, cuGraphNodeGetEnabled),
  };
  return entries;
}

}  // namespace sluice::softgpu
