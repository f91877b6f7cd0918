// Nodes: adding each kind, asking what they were made of, and changing that.
#include <cstring>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/graph/graph.h"
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

// Adds a node; `make` makes its work once everything else is known to be right.
template <typename Make>
CUresult add(CUgraphNode* out, CUgraph handle, const CUgraphNode* after, const CUgraphEdgeData* data,
             size_t count, const Make& make) {
  return graph_api([&]() -> CUresult {
    auto* graph = lookup<Graph>(handle);
    if (graph == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::vector<Node*> before;
    SLUICE_TRY(find_nodes(*graph, after, count, &before));
    Work work;
    SLUICE_TRY(make(&work));
    Node* node = graph->add(std::move(work));
    for (size_t i = 0; i < before.size(); i++) {
      connect(*before[i], *node, data ? data[i] : CUgraphEdgeData{});
    }
    *out = node->handle();
    return CUDA_SUCCESS;
  });
}

// The node's work, if it is of that kind.
template <typename Kind>
CUresult find_work(CUgraphNode handle, Node** node, Kind** work) {
  *node = lookup<Node>(handle);
  if (*node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *work = std::get_if<Kind>(&(*node)->work);
  return *work == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

template <typename Kind, typename Read>
CUresult ask(CUgraphNode handle, const void* out, const Read& read) {
  return graph_api([&]() -> CUresult {
    Node* node = nullptr;
    Kind* work = nullptr;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    SLUICE_TRY(find_work(handle, &node, &work));
    read(*node, *work);
    return CUDA_SUCCESS;
  });
}

// Replaces the work of a node of that kind.
template <typename Kind, typename Make>
CUresult change(CUgraphNode handle, const void* given, const Make& make) {
  return graph_api([&]() -> CUresult {
    Node* node = nullptr;
    Kind* work = nullptr;
    if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
    SLUICE_TRY(find_work(handle, &node, &work));
    Work made;
    SLUICE_TRY(make(*work, &made));
    if constexpr (std::is_same_v<Kind, KernelWork>) {
      std::get<KernelWork>(made).attributes = std::move(work->attributes);
    }
    node->work = std::move(made);
    return CUDA_SUCCESS;
  });
}

CUresult find_attribute(KernelWork& work, CUlaunchAttributeID id, CUlaunchAttribute** out) {
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  *out = nullptr;
  for (CUlaunchAttribute& attribute : work.attributes) {
    if (attribute.id == id) *out = &attribute;
  }
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

#define SLUICE_NODE_PLACE CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t count

SLUICE_API cuGraphAddKernelNode(SLUICE_NODE_PLACE, const CUDA_KERNEL_NODE_PARAMS_v1* given) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add(out, graph, after, nullptr, count,
             [&](Work* work) { return make_kernel_work(widen(*given), work); });
}
SLUICE_API cuGraphAddKernelNode_v2(SLUICE_NODE_PLACE, const CUDA_KERNEL_NODE_PARAMS_v2* given) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add(out, graph, after, nullptr, count, [&](Work* work) { return make_kernel_work(*given, work); });
}
SLUICE_API cuGraphAddMemcpyNode(SLUICE_NODE_PLACE, const CUDA_MEMCPY3D* given, CUcontext context) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add(out, graph, after, nullptr, count,
             [&](Work* work) { return make_copy_work(*given, context, work); });
}
SLUICE_API cuGraphAddMemsetNode(SLUICE_NODE_PLACE, const CUDA_MEMSET_NODE_PARAMS* given, CUcontext context) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add(out, graph, after, nullptr, count,
             [&](Work* work) { return make_fill_work(widen(*given, context), work); });
}
SLUICE_API cuGraphAddHostNode(SLUICE_NODE_PLACE, const CUDA_HOST_NODE_PARAMS* given) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add(out, graph, after, nullptr, count, [&](Work* work) { return make_host_work(*given, work); });
}
SLUICE_API cuGraphAddChildGraphNode(SLUICE_NODE_PLACE, CUgraph child) {
  return add(out, graph, after, nullptr, count, [&](Work* work) {
    return make_child_work({child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE}, work);
  });
}
SLUICE_API cuGraphAddEmptyNode(SLUICE_NODE_PLACE) {
  return add(out, graph, after, nullptr, count, [](Work* work) {
    *work = EmptyWork{};
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuGraphAddEventRecordNode(SLUICE_NODE_PLACE, CUevent event) {
  return add(out, graph, after, nullptr, count,
             [&](Work* work) { return make_event_work(event, true, work); });
}
SLUICE_API cuGraphAddEventWaitNode(SLUICE_NODE_PLACE, CUevent event) {
  return add(out, graph, after, nullptr, count,
             [&](Work* work) { return make_event_work(event, false, work); });
}
SLUICE_API cuGraphAddMemAllocNode(SLUICE_NODE_PLACE, CUDA_MEM_ALLOC_NODE_PARAMS* given) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add(out, graph, after, nullptr, count, [&](Work* work) { return make_alloc_work(*given, work); });
}
SLUICE_API cuGraphAddMemFreeNode(SLUICE_NODE_PLACE, CUdeviceptr address) {
  return add(out, graph, after, nullptr, count, [&](Work* work) { return make_free_work(address, work); });
}
SLUICE_API cuGraphAddNode(SLUICE_NODE_PLACE, CUgraphNodeParams* given) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add(out, graph, after, nullptr, count, [&](Work* work) { return make_work(*given, work); });
}
SLUICE_API cuGraphAddNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                             const CUgraphEdgeData* data, size_t count, CUgraphNodeParams* given) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return add(out, graph, after, data, count, [&](Work* work) { return make_work(*given, work); });
}
#undef SLUICE_NODE_PLACE

SLUICE_API cuGraphKernelNodeGetParams(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v1* out) {
  return ask<KernelWork>(handle, out, [&](Node& node, KernelWork&) {
    CUDA_KERNEL_NODE_PARAMS_v2 wide{};
    describe_kernel(node, &wide);
    *out = narrow(wide);
  });
}
SLUICE_API cuGraphKernelNodeGetParams_v2(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v2* out) {
  return ask<KernelWork>(handle, out, [&](Node& node, KernelWork&) { describe_kernel(node, out); });
}
SLUICE_API cuGraphKernelNodeSetParams(CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS_v1* given) {
  return change<KernelWork>(handle, given,
                            [&](KernelWork&, Work* made) { return make_kernel_work(widen(*given), made); });
}
SLUICE_API cuGraphKernelNodeSetParams_v2(CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS_v2* given) {
  return change<KernelWork>(handle, given,
                            [&](KernelWork&, Work* made) { return make_kernel_work(*given, made); });
}
SLUICE_API cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D* out) {
  return ask<CopyWork>(handle, out, [&](Node&, CopyWork& work) { *out = work.what; });
}
SLUICE_API cuGraphMemcpyNodeSetParams(CUgraphNode handle, const CUDA_MEMCPY3D* given) {
  return change<CopyWork>(handle, given, [&](CopyWork& before, Work* made) {
    return make_copy_work(*given, before.context, made);
  });
}
SLUICE_API cuGraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS* out) {
  return ask<FillWork>(handle, out,
                       [&](Node&, FillWork& work) { std::memcpy(out, &work.what, sizeof *out); });
}
SLUICE_API cuGraphMemsetNodeSetParams(CUgraphNode handle, const CUDA_MEMSET_NODE_PARAMS* given) {
  return change<FillWork>(handle, given, [&](FillWork& before, Work* made) {
    return make_fill_work(widen(*given, before.what.ctx), made);
  });
}
SLUICE_API cuGraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS* out) {
  return ask<HostWork>(handle, out, [&](Node&, HostWork& work) { *out = work.what; });
}
SLUICE_API cuGraphHostNodeSetParams(CUgraphNode handle, const CUDA_HOST_NODE_PARAMS* given) {
  return change<HostWork>(handle, given, [&](HostWork&, Work* made) { return make_host_work(*given, made); });
}
SLUICE_API cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph* out) {
  return ask<ChildWork>(handle, out, [&](Node&, ChildWork& work) { *out = work.graph->handle(); });
}
SLUICE_API cuGraphEventRecordNodeGetEvent(CUgraphNode handle, CUevent* out) {
  return ask<RecordWork>(handle, out, [&](Node&, RecordWork& work) { *out = work.event; });
}
SLUICE_API cuGraphEventRecordNodeSetEvent(CUgraphNode handle, CUevent event) {
  return change<RecordWork>(handle, event,
                            [&](RecordWork&, Work* made) { return make_event_work(event, true, made); });
}
SLUICE_API cuGraphEventWaitNodeGetEvent(CUgraphNode handle, CUevent* out) {
  return ask<WaitWork>(handle, out, [&](Node&, WaitWork& work) { *out = work.event; });
}
SLUICE_API cuGraphEventWaitNodeSetEvent(CUgraphNode handle, CUevent event) {
  return change<WaitWork>(handle, event,
                          [&](WaitWork&, Work* made) { return make_event_work(event, false, made); });
}
SLUICE_API cuGraphMemAllocNodeGetParams(CUgraphNode handle, CUDA_MEM_ALLOC_NODE_PARAMS* out) {
  return ask<AllocWork>(handle, out, [&](Node&, AllocWork& work) {
    *out = work.what;
    out->accessDescs = work.access.empty() ? nullptr : work.access.data();
  });
}
SLUICE_API cuGraphMemFreeNodeGetParams(CUgraphNode handle, CUdeviceptr* out) {
  return ask<FreeWork>(handle, out, [&](Node&, FreeWork& work) { *out = work.address; });
}
SLUICE_API cuGraphNodeGetParams(CUgraphNode handle, CUgraphNodeParams* out) {
  return graph_api([&]() -> CUresult {
    auto* node = lookup<Node>(handle);
    return node == nullptr || out == nullptr ? CUDA_ERROR_INVALID_VALUE : describe(*node, out);
  });
}
SLUICE_API cuGraphNodeSetParams(CUgraphNode handle, CUgraphNodeParams* given) {
  return graph_api([&]() -> CUresult {
    auto* node = lookup<Node>(handle);
    if (node == nullptr || given == nullptr || given->type != node->type()) return CUDA_ERROR_INVALID_VALUE;
    if (std::holds_alternative<AllocWork>(node->work) || std::holds_alternative<FreeWork>(node->work))
      return CUDA_ERROR_NOT_SUPPORTED;
    Work made;
    SLUICE_TRY(make_work(*given, &made));
    if (auto* kernel = std::get_if<KernelWork>(&made)) {
      kernel->attributes = std::get<KernelWork>(node->work).attributes;
    }
    node->work = std::move(made);
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  return graph_api([&]() -> CUresult {
    Node* node = nullptr;
    KernelWork* destination = nullptr;
    KernelWork* source = nullptr;
    SLUICE_TRY(find_work(to, &node, &destination));
    SLUICE_TRY(find_work(from, &node, &source));
    destination->attributes = source->attributes;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUlaunchAttributeID id,
                                         CUlaunchAttributeValue* out) {
  return graph_api([&]() -> CUresult {
    Node* node = nullptr;
    KernelWork* work = nullptr;
    CUlaunchAttribute* attribute = nullptr;
    SLUICE_TRY(find_work(handle, &node, &work));
    SLUICE_TRY(find_attribute(*work, id, &attribute));
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = attribute ? attribute->value : CUlaunchAttributeValue{};
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUlaunchAttributeID id,
                                         const CUlaunchAttributeValue* value) {
  return graph_api([&]() -> CUresult {
    Node* node = nullptr;
    KernelWork* work = nullptr;
    CUlaunchAttribute* attribute = nullptr;
    SLUICE_TRY(find_work(handle, &node, &work));
    SLUICE_TRY(find_attribute(*work, id, &attribute));
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (attribute == nullptr) {
      work->attributes.push_back({});
      attribute = &work->attributes.back();
      attribute->id = id;
    }
    attribute->value = *value;
    return CUDA_SUCCESS;
  });
}

namespace sluice::softgpu {

std::span<const Entry> graph_node_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuGraphAddKernelNode", 10000, cuGraphAddKernelNode),
      SLUICE_ENTRY("cuGraphAddKernelNode", 12000, cuGraphAddKernelNode_v2),
      SLUICE_ENTRY("cuGraphAddMemcpyNode", 10000, cuGraphAddMemcpyNode),
      SLUICE_ENTRY("cuGraphAddMemsetNode", 10000, cuGraphAddMemsetNode),
      SLUICE_ENTRY("cuGraphAddHostNode", 10000, cuGraphAddHostNode),
      SLUICE_ENTRY("cuGraphAddChildGraphNode", 10000, cuGraphAddChildGraphNode),
      SLUICE_ENTRY("cuGraphAddEmptyNode", 10000, cuGraphAddEmptyNode),
      SLUICE_ENTRY("cuGraphAddEventRecordNode", 11010, cuGraphAddEventRecordNode),
      SLUICE_ENTRY("cuGraphAddEventWaitNode", 11010, cuGraphAddEventWaitNode),
      SLUICE_ENTRY("cuGraphAddMemAllocNode", 11040, cuGraphAddMemAllocNode),
      SLUICE_ENTRY("cuGraphAddMemFreeNode", 11040, cuGraphAddMemFreeNode),
      SLUICE_ENTRY("cuGraphAddNode", 12020, cuGraphAddNode),
      SLUICE_ENTRY("cuGraphAddNode", 12030, cuGraphAddNode_v2),
      SLUICE_ENTRY("cuGraphKernelNodeGetParams", 10000, cuGraphKernelNodeGetParams),
      SLUICE_ENTRY("cuGraphKernelNodeGetParams", 12000, cuGraphKernelNodeGetParams_v2),
      SLUICE_ENTRY("cuGraphKernelNodeSetParams", 10000, cuGraphKernelNodeSetParams),
      SLUICE_ENTRY("cuGraphKernelNodeSetParams", 12000, cuGraphKernelNodeSetParams_v2),
      SLUICE_ENTRY("cuGraphMemcpyNodeGetParams", 10000, cuGraphMemcpyNodeGetParams),
      SLUICE_ENTRY("cuGraphMemcpyNodeSetParams", 10000, cuGraphMemcpyNodeSetParams),
      SLUICE_ENTRY("cuGraphMemsetNodeGetParams", 10000, cuGraphMemsetNodeGetParams),
      SLUICE_ENTRY("cuGraphMemsetNodeSetParams", 10000, cuGraphMemsetNodeSetParams),
      SLUICE_ENTRY("cuGraphHostNodeGetParams", 10000, cuGraphHostNodeGetParams),
      SLUICE_ENTRY("cuGraphHostNodeSetParams", 10000, cuGraphHostNodeSetParams),
      SLUICE_ENTRY("cuGraphChildGraphNodeGetGraph", 10000, cuGraphChildGraphNodeGetGraph),
      SLUICE_ENTRY("cuGraphEventRecordNodeGetEvent", 11010, cuGraphEventRecordNodeGetEvent),
      SLUICE_ENTRY("cuGraphEventRecordNodeSetEvent", 11010, cuGraphEventRecordNodeSetEvent),
      SLUICE_ENTRY("cuGraphEventWaitNodeGetEvent", 11010, cuGraphEventWaitNodeGetEvent),
      SLUICE_ENTRY("cuGraphEventWaitNodeSetEvent", 11010, cuGraphEventWaitNodeSetEvent),
      SLUICE_ENTRY("cuGraphMemAllocNodeGetParams", 11040, cuGraphMemAllocNodeGetParams),
      SLUICE_ENTRY("cuGraphMemFreeNodeGetParams", 11040, cuGraphMemFreeNodeGetParams),
      SLUICE_ENTRY("cuGraphNodeGetParams", 13020, cuGraphNodeGetParams),
      SLUICE_ENTRY("cuGraphNodeSetParams", 12020, cuGraphNodeSetParams),
      SLUICE_ENTRY("cuGraphKernelNodeCopyAttributes", 11000, cuGraphKernelNodeCopyAttributes),
      SLUICE_ENTRY("cuGraphKernelNodeGetAttribute", 11000, cuGraphKernelNodeGetAttribute),
      SLUICE_ENTRY("cuGraphKernelNodeSetAttribute", 11000, cuGraphKernelNodeSetAttribute),
  };
  return entries;
}

}  // namespace sluice::softgpu
