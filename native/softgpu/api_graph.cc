// Graphs: making, copying and looking at them; user objects; memory of graphs.
#include <algorithm>
#include <cstring>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/graph/dot.h"
#include "softgpu/graph/graph.h"
#include "softgpu/graph/graph_memory.h"
#include "softgpu/graph/user_object.h"

namespace sluice::softgpu {
namespace {

// Runs the body with all graphs locked.
template <typename Body>
CUresult graph_api(Body&& body) noexcept {
  return api([&]() -> CUresult {
    const std::lock_guard lock(graph_mutex());
    return body();
  });
}

CUresult find_graph(CUgraph handle, Graph** out) {
  *out = lookup<Graph>(handle);
  return *out == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult find_node(CUgraphNode handle, Node** out) {
  *out = lookup<Node>(handle);
  return *out == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// A list as CUDA's functions give it: without a place for it only the number; else as many as there is room
// for, the rest null.
template <typename Handles>
CUresult give(const Handles& all, CUgraphNode* out, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (out != nullptr) {
    for (size_t i = 0; i < *count; i++) out[i] = i < all.size() ? all[i] : nullptr;
  }
  if (out == nullptr || *count > all.size()) *count = all.size();
  return CUDA_SUCCESS;
}

bool is_default(const CUgraphEdgeData& data) {
  return data.type == 0 && data.from_port == 0 && data.to_port == 0;
}

CUresult edges_of(const Graph& graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                  size_t* count, bool lossy) {
  if (count == nullptr || (from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  size_t at = 0;
  for (const auto& node : graph.nodes) {
    for (const Edge& edge : node->in) {
      if (from != nullptr && at < *count) {
        if (lossy && !is_default(edge.data)) return CUDA_ERROR_LOSSY_QUERY;
        from[at] = edge.from->handle();
        to[at] = node->handle();
        if (data != nullptr) data[at] = edge.data;
      }
      at++;
    }
  }
  for (size_t i = at; from != nullptr && i < *count; i++) from[i] = to[i] = nullptr;
  if (from == nullptr || *count > at) *count = at;
  return CUDA_SUCCESS;
}

CUresult dependencies_of(CUgraphNode handle, CUgraphNode* out, CUgraphEdgeData* data, size_t* count,
                         bool lossy) {
  Node* node = nullptr;
  SLUICE_TRY(find_node(handle, &node));
  std::vector<CUgraphNode> all;
  for (const Edge& edge : node->in) {
    if (lossy && out != nullptr && !is_default(edge.data)) return CUDA_ERROR_LOSSY_QUERY;
    if (data != nullptr && count != nullptr && all.size() < *count) data[all.size()] = edge.data;
    all.push_back(edge.from->handle());
  }
  return give(all, out, count);
}

CUresult dependents_of(CUgraphNode handle, CUgraphNode* out, CUgraphEdgeData* data, size_t* count,
                       bool lossy) {
  Node* node = nullptr;
  SLUICE_TRY(find_node(handle, &node));
  std::vector<CUgraphNode> all;
  for (Node* next : node->out) {
    for (const Edge& edge : next->in) {
      if (edge.from != node) continue;
      if (lossy && out != nullptr && !is_default(edge.data)) return CUDA_ERROR_LOSSY_QUERY;
      if (data != nullptr && count != nullptr && all.size() < *count) data[all.size()] = edge.data;
    }
    all.push_back(next->handle());
  }
  return give(all, out, count);
}

// All edges are checked before the first is changed.
CUresult change_edges(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                      const CUgraphEdgeData* data, size_t count, bool add) {
  Graph* graph = nullptr;
  SLUICE_TRY(find_graph(handle, &graph));
  if (count > 0 && (from == nullptr || to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<std::pair<Node*, Node*>> edges;
  for (size_t i = 0; i < count; i++) {
    auto* first = lookup<Node>(from[i]);
    auto* second = lookup<Node>(to[i]);
    if (first == nullptr || second == nullptr || &first->graph != graph || &second->graph != graph ||
        first == second || has_edge(*first, *second) == add) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const std::pair edge{first, second};
    if (std::find(edges.begin(), edges.end(), edge) != edges.end()) return CUDA_ERROR_INVALID_VALUE;
    edges.push_back(edge);
  }
  for (size_t i = 0; i < edges.size(); i++) {
    if (add) {
      connect(*edges[i].first, *edges[i].second, data ? data[i] : CUgraphEdgeData{});
    } else {
      disconnect(*edges[i].first, *edges[i].second);
    }
  }
  return CUDA_SUCCESS;
}

CUresult find_object(CUuserObject handle, UserObject** out) {
  *out = lookup<UserObject>(handle);
  return *out == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

template <typename T>
CUresult put(T* out, T value) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = value;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuGraphCreate(CUgraph* out, unsigned flags) {
  return graph_api([&] {
    return flags != 0 ? CUDA_ERROR_INVALID_VALUE : put(out, publish_graph(std::make_shared<Graph>()));
  });
}
SLUICE_API cuGraphDestroy(CUgraph graph) {
  return graph_api([&] { return destroy_graph(graph); });
}
SLUICE_API cuGraphClone(CUgraph* out, CUgraph original) {
  return graph_api([&]() -> CUresult {
    Graph* graph = nullptr;
    SLUICE_TRY(find_graph(original, &graph));
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = publish_graph(graph->clone());
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuGraphNodeFindInClone(CUgraphNode* out, CUgraphNode original, CUgraph clone) {
  return graph_api([&]() -> CUresult {
    Node* node = nullptr;
    Graph* graph = nullptr;
    SLUICE_TRY(find_node(original, &node));
    SLUICE_TRY(find_graph(clone, &graph));
    const Node* found = graph->copy_of(node->uid);
    return found == nullptr ? CUDA_ERROR_INVALID_VALUE : put(out, found->handle());
  });
}
SLUICE_API cuGraphDestroyNode(CUgraphNode handle) {
  return graph_api([&]() -> CUresult {
    Node* node = nullptr;
    SLUICE_TRY(find_node(handle, &node));
    // Memory nodes stay as long as their graph: other nodes may refer to the address.
    if (std::holds_alternative<AllocWork>(node->work) || std::holds_alternative<FreeWork>(node->work))
      return CUDA_ERROR_NOT_SUPPORTED;
    node->graph.remove(*node);
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  return graph_api([&]() -> CUresult {
    Node* node = nullptr;
    SLUICE_TRY(find_node(handle, &node));
    return put(type, node->type());
  });
}
SLUICE_API cuGraphNodeGetContainingGraph(CUgraphNode handle, CUgraph* out) {
  return graph_api([&]() -> CUresult {
    Node* node = nullptr;
    SLUICE_TRY(find_node(handle, &node));
    return put(out, node->graph.handle());
  });
}
SLUICE_API cuGraphNodeGetLocalId(CUgraphNode handle, unsigned* out) {
  return graph_api([&]() -> CUresult {
    Node* node = nullptr;
    SLUICE_TRY(find_node(handle, &node));
    return put(out, unsigned{node->local_id});
  });
}
SLUICE_API cuGraphNodeGetToolsId(CUgraphNode handle, unsigned long long* out) {
  return graph_api([&]() -> CUresult {
    Node* node = nullptr;
    SLUICE_TRY(find_node(handle, &node));
    return put(out, static_cast<unsigned long long>(node->uid));
  });
}
SLUICE_API cuGraphGetId(CUgraph handle, unsigned* out) {
  return graph_api([&]() -> CUresult {
    Graph* graph = nullptr;
    SLUICE_TRY(find_graph(handle, &graph));
    return put(out, unsigned{graph->id});
  });
}
SLUICE_API cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return graph_api([&]() -> CUresult {
    Graph* graph = nullptr;
    SLUICE_TRY(find_graph(handle, &graph));
    std::vector<CUgraphNode> all;
    for (const auto& node : graph->nodes) all.push_back(node->handle());
    return give(all, nodes, count);
  });
}
SLUICE_API cuGraphGetRootNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return graph_api([&]() -> CUresult {
    Graph* graph = nullptr;
    SLUICE_TRY(find_graph(handle, &graph));
    std::vector<CUgraphNode> roots;
    for (const auto& node : graph->nodes) {
      if (node->in.empty()) roots.push_back(node->handle());
    }
    return give(roots, nodes, count);
  });
}
SLUICE_API cuGraphGetEdges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return graph_api([&]() -> CUresult {
    Graph* graph = nullptr;
    SLUICE_TRY(find_graph(handle, &graph));
    return edges_of(*graph, from, to, nullptr, count, true);
  });
}
SLUICE_API cuGraphGetEdges_v2(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                              size_t* count) {
  return graph_api([&]() -> CUresult {
    Graph* graph = nullptr;
    SLUICE_TRY(find_graph(handle, &graph));
    return edges_of(*graph, from, to, data, count, data == nullptr);
  });
}
SLUICE_API cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* out, size_t* count) {
  return graph_api([&] { return dependencies_of(node, out, nullptr, count, true); });
}
SLUICE_API cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data,
                                         size_t* count) {
  return graph_api([&] { return dependencies_of(node, out, data, count, data == nullptr); });
}
SLUICE_API cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* out, size_t* count) {
  return graph_api([&] { return dependents_of(node, out, nullptr, count, true); });
}
SLUICE_API cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data,
                                           size_t* count) {
  return graph_api([&] { return dependents_of(node, out, data, count, data == nullptr); });
}
SLUICE_API cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                  size_t count) {
  return graph_api([&] { return change_edges(graph, from, to, nullptr, count, true); });
}
SLUICE_API cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                     const CUgraphEdgeData* data, size_t count) {
  return graph_api([&] { return change_edges(graph, from, to, data, count, true); });
}
SLUICE_API cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                     size_t count) {
  return graph_api([&] { return change_edges(graph, from, to, nullptr, count, false); });
}
SLUICE_API cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                        const CUgraphEdgeData*, size_t count) {
  return graph_api([&] { return change_edges(graph, from, to, nullptr, count, false); });
}
SLUICE_API cuGraphDebugDotPrint(CUgraph handle, const char* path, unsigned flags) {
  return graph_api([&]() -> CUresult {
    Graph* graph = nullptr;
    SLUICE_TRY(find_graph(handle, &graph));
    if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return write_dot(*graph, path, flags) ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
  });
}

SLUICE_API cuDeviceGraphMemTrim(CUdevice device) {
  // Nothing is held back beyond what nodes refer to.
  return api([&] { return driver()->device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE; });
}
SLUICE_API cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
  return api([&]() -> CUresult {
    if (driver()->device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return get_graph_memory(device, attribute, static_cast<uint64_t*>(value));
  });
}
SLUICE_API cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
  return api([&]() -> CUresult {
    if (driver()->device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return reset_graph_memory(device, attribute, *static_cast<const uint64_t*>(value));
  });
}

SLUICE_API cuUserObjectCreate(CUuserObject* out, void* data, CUhostFn destroy, unsigned references,
                              unsigned flags) {
  return graph_api([&]() -> CUresult {
    if (destroy == nullptr || references == 0 || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
      return CUDA_ERROR_INVALID_VALUE;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = (new UserObject(data, destroy, references))->handle();
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuUserObjectRetain(CUuserObject handle, unsigned count) {
  return graph_api([&]() -> CUresult {
    UserObject* object = nullptr;
    SLUICE_TRY(find_object(handle, &object));
    if (count == 0) return CUDA_ERROR_INVALID_VALUE;
    object->retain(count);
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuUserObjectRelease(CUuserObject handle, unsigned count) {
  return graph_api([&]() -> CUresult {
    UserObject* object = nullptr;
    SLUICE_TRY(find_object(handle, &object));
    return count > 0 && object->release(count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}
SLUICE_API cuGraphRetainUserObject(CUgraph handle, CUuserObject object_handle, unsigned count,
                                   unsigned flags) {
  return graph_api([&]() -> CUresult {
    Graph* graph = nullptr;
    UserObject* object = nullptr;
    SLUICE_TRY(find_graph(handle, &graph));
    SLUICE_TRY(find_object(object_handle, &object));
    if (count == 0 || flags > CU_GRAPH_USER_OBJECT_MOVE) return CUDA_ERROR_INVALID_VALUE;
    if (flags != CU_GRAPH_USER_OBJECT_MOVE) object->retain(count);
    graph->objects[object] += count;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuGraphReleaseUserObject(CUgraph handle, CUuserObject object_handle, unsigned count) {
  return graph_api([&]() -> CUresult {
    Graph* graph = nullptr;
    UserObject* object = nullptr;
    SLUICE_TRY(find_graph(handle, &graph));
    SLUICE_TRY(find_object(object_handle, &object));
    const auto held = graph->objects.find(object);
    if (count == 0 || held == graph->objects.end() || held->second < count) return CUDA_ERROR_INVALID_VALUE;
    if ((held->second -= count) == 0) graph->objects.erase(held);
    object->release(count);
    return CUDA_SUCCESS;
  });
}

namespace sluice::softgpu {

std::span<const Entry> graph_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuGraphCreate", 10000, cuGraphCreate),
      SLUICE_ENTRY("cuGraphDestroy", 10000, cuGraphDestroy),
      SLUICE_ENTRY("cuGraphClone", 10000, cuGraphClone),
      SLUICE_ENTRY("cuGraphNodeFindInClone", 10000, cuGraphNodeFindInClone),
      SLUICE_ENTRY("cuGraphDestroyNode", 10000, cuGraphDestroyNode),
      SLUICE_ENTRY("cuGraphNodeGetType", 10000, cuGraphNodeGetType),
      SLUICE_ENTRY("cuGraphNodeGetContainingGraph", 13010, cuGraphNodeGetContainingGraph),
      SLUICE_ENTRY("cuGraphNodeGetLocalId", 13010, cuGraphNodeGetLocalId),
      SLUICE_ENTRY("cuGraphNodeGetToolsId", 13010, cuGraphNodeGetToolsId),
      SLUICE_ENTRY("cuGraphGetId", 13010, cuGraphGetId),
      SLUICE_ENTRY("cuGraphGetNodes", 10000, cuGraphGetNodes),
      SLUICE_ENTRY("cuGraphGetRootNodes", 10000, cuGraphGetRootNodes),
      SLUICE_ENTRY("cuGraphGetEdges", 10000, cuGraphGetEdges),
      SLUICE_ENTRY("cuGraphGetEdges", 12030, cuGraphGetEdges_v2),
      SLUICE_ENTRY("cuGraphNodeGetDependencies", 10000, cuGraphNodeGetDependencies),
      SLUICE_ENTRY("cuGraphNodeGetDependencies", 12030, cuGraphNodeGetDependencies_v2),
      SLUICE_ENTRY("cuGraphNodeGetDependentNodes", 10000, cuGraphNodeGetDependentNodes),
      SLUICE_ENTRY("cuGraphNodeGetDependentNodes", 12030, cuGraphNodeGetDependentNodes_v2),
      SLUICE_ENTRY("cuGraphAddDependencies", 10000, cuGraphAddDependencies),
      SLUICE_ENTRY("cuGraphAddDependencies", 12030, cuGraphAddDependencies_v2),
      SLUICE_ENTRY("cuGraphRemoveDependencies", 10000, cuGraphRemoveDependencies),
      SLUICE_ENTRY("cuGraphRemoveDependencies", 12030, cuGraphRemoveDependencies_v2),
      SLUICE_ENTRY("cuGraphDebugDotPrint", 11030, cuGraphDebugDotPrint),
      SLUICE_ENTRY("cuDeviceGraphMemTrim", 11040, cuDeviceGraphMemTrim),
      SLUICE_ENTRY("cuDeviceGetGraphMemAttribute", 11040, cuDeviceGetGraphMemAttribute),
      SLUICE_ENTRY("cuDeviceSetGraphMemAttribute", 11040, cuDeviceSetGraphMemAttribute),
      SLUICE_ENTRY("cuUserObjectCreate", 11030, cuUserObjectCreate),
      SLUICE_ENTRY("cuUserObjectRetain", 11030, cuUserObjectRetain),
      SLUICE_ENTRY("cuUserObjectRelease", 11030, cuUserObjectRelease),
      SLUICE_ENTRY("cuGraphRetainUserObject", 11030, cuGraphRetainUserObject),
      SLUICE_ENTRY("cuGraphReleaseUserObject", 11030, cuGraphReleaseUserObject),
  };
  return entries;
}

}  // namespace sluice::softgpu
