// Building graphs. The client checks, remembers and sends; what the driver finds wrong is reported when the
// graph is instantiated.
#include "client/captures.h"
#include "client/graph_scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

constexpr size_t kEdgesAtOnce = 4096;

// The nodes behind handles, all of one graph and none twice.
CUresult find_nodes(GraphScope& scope, const Graph& graph, const CUgraphNode* handles, size_t count,
                    std::vector<GraphNode*>* nodes) {
  if (count > 0 && handles == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::set<const GraphNode*> seen;
  for (size_t i = 0; i < count; i++) {
    GraphNode* node = nullptr;
    if (CUresult error = scope.find(handles[i], &node)) return error;
    if (node->graph != &graph || !seen.insert(node).second) return CUDA_ERROR_INVALID_VALUE;
    nodes->push_back(node);
  }
  return CUDA_SUCCESS;
}

// Sends edges in as many frames as it takes.
CUresult send_edges(GraphScope& scope, CallId call, const Graph& graph, const std::vector<GraphNode*>& from,
                    const std::vector<GraphNode*>& to, const CUgraphEdgeData* data, size_t first) {
  for (size_t at = first; at < from.size(); at += kEdgesAtOnce) {
    const size_t count = std::min(kEdgesAtOnce, from.size() - at);
    wire::DynamicFrame frame(call);
    frame.arguments().put(graph.index);
    frame.arguments().put(static_cast<uint32_t>(count));
    for (size_t i = at; i < at + count; i++) {
      const CUgraphEdgeData edge = data ? data[i] : CUgraphEdgeData{};
      frame.arguments().put(from[i]->index);
      frame.arguments().put(to[i]->index);
      frame.arguments().bytes(&edge, sizeof edge);
    }
    frame.complete();
    if (CUresult error = scope.post(frame)) return error;
  }
  return CUDA_SUCCESS;
}

// The graphs that are the bodies of a conditional node.
CUresult mint_bodies(GraphScope& scope, GraphNode& node, wire::GraphNode* sent) {
  for (unsigned i = 0; i < node.data.params.conditional.size; i++) {
    Graph* body = mint_graph(scope, node.graph);
    if (body == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    node.bodies.push_back(static_cast<CUgraph>(body->handle));
    sent->bodies.push_back(body->index);
  }
  return CUDA_SUCCESS;
}

CUresult add_node(CUgraphNode* out, CUgraph handle, const CUgraphNode* dependencies,
                  const CUgraphEdgeData* data, size_t count, CUgraphNodeParams* params) {
  if (out == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  Graph* graph = nullptr;
  if (CUresult error = scope.begin(handle, &graph)) return error;
  std::vector<GraphNode*> before;
  if (CUresult error = find_nodes(scope, *graph, dependencies, count, &before)) return error;
  NodeData filled;
  filled.params = *params;
  wire::GraphNode sent;
  if (CUresult error = to_wire(scope, &filled, &sent)) return error;
  GraphNode* node = mint_node(scope, *graph, std::move(filled));
  if (node == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    if (CUresult error = mint_bodies(scope, *node, &sent)) return error;
  }

  const bool answered = params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;  // the address
  const size_t at_once = std::min(before.size(), kEdgesAtOnce);
  wire::DynamicFrame frame(CallId::cuGraphAddNode_v2, answered ? wire::kSync : uint16_t{0});
  frame.arguments().put(graph->index);
  frame.arguments().put(node->index);
  frame.arguments().put(static_cast<uint32_t>(at_once));
  for (size_t i = 0; i < at_once; i++) {
    const CUgraphEdgeData edge = data ? data[i] : CUgraphEdgeData{};
    frame.arguments().put(before[i]->index);
    frame.arguments().bytes(&edge, sizeof edge);
  }
  wire::put_node(frame.arguments(), sent);
  frame.complete();
  if (answered) {
    wire::FixedReply<8> reply;
    if (CUresult error = scope.call(frame, reply)) {
      release_node(*scope.session, *node);
      return error;
    }
    const CUdeviceptr address = reply.get<uint64_t>();
    params->alloc.dptr = node->data.params.alloc.dptr = address;
    know_memory(scope, *graph, address, params->alloc.bytesize);
  } else if (CUresult error = scope.post(frame)) {
    return error;
  }
  for (size_t i = 0; i < before.size(); i++) {
    add_link(*before[i], *node, data ? data[i] : CUgraphEdgeData{});
  }
  GraphKept& kept = root_of(*graph).kept;
  keep_task(kept, node->index, node->data.task);
  if (params->type == CU_GRAPH_NODE_TYPE_GRAPH) {
    keep_all(kept, root_of(*scope.session->graphs.find(params->graph.graph)).kept);
  } else if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    params->conditional.phGraph_out = node->data.params.conditional.phGraph_out = node->bodies.data();
  }
  *out = static_cast<CUgraphNode>(node->handle);
  const std::vector<GraphNode*> to(before.size(), node);
  return send_edges(scope, CallId::cuGraphAddDependencies_v2, *graph, before, to, data, at_once);
}

CUresult change_edges(CallId call, CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                      const CUgraphEdgeData* data, size_t count) {
  GraphScope scope;
  Graph* graph = nullptr;
  if (CUresult error = scope.begin(handle, &graph)) return error;
  if (CUresult error = fetch(scope, *graph)) return error;
  if (count > 0 && (from == nullptr || to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> first;
  std::vector<GraphNode*> second;
  const bool add = call == CallId::cuGraphAddDependencies_v2;
  for (size_t i = 0; i < count; i++) {
    GraphNode* nodes[2] = {};
    if (CUresult error = scope.find(from[i], &nodes[0])) return error;
    if (CUresult error = scope.find(to[i], &nodes[1])) return error;
    if (nodes[0]->graph != graph || nodes[1]->graph != graph || nodes[0] == nodes[1])
      return CUDA_ERROR_INVALID_VALUE;
    const auto& links = nodes[0]->after;
    const bool linked = std::any_of(links.begin(), links.end(),
                                    [&](const GraphNode::Link& link) { return link.node == nodes[1]; });
    if (linked == add) return CUDA_ERROR_INVALID_VALUE;  // an edge that is there, or one that is not
    first.push_back(nodes[0]);
    second.push_back(nodes[1]);
  }
  for (size_t i = 0; i < count; i++) {
    if (add) {
      add_link(*first[i], *second[i], data ? data[i] : CUgraphEdgeData{});
    } else {
      remove_link(*first[i], *second[i]);
    }
  }
  return send_edges(scope, call, *graph, first, second, data, 0);
}

}  // namespace

CUresult cuGraphCreate(CUgraph* phGraph, unsigned int flags) {
  if (phGraph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  if (CUresult error = scope.begin()) return error;
  Graph* graph = mint_graph(scope);
  if (graph == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  wire::AsyncFrame<8> frame(CallId::cuGraphCreate);
  frame.put(graph->index);
  frame.put(uint32_t{flags});
  if (CUresult error = scope.post(frame)) return error;
  *phGraph = static_cast<CUgraph>(graph->handle);
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph hGraph) {
  GraphScope scope;
  Graph* graph = nullptr;
  if (CUresult error = scope.begin(hGraph, &graph)) return error;
  if (graph->parent != nullptr) return CUDA_ERROR_INVALID_VALUE;
  wire::AsyncFrame<4> frame(CallId::cuGraphDestroy);
  frame.put(graph->index);
  const CUresult result = scope.post(frame);
  release_graph(*scope.session, *graph);
  return result;
}

CUresult cuGraphClone(CUgraph* phGraphClone, CUgraph originalGraph) {
  if (phGraphClone == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  Graph* original = nullptr;
  if (CUresult error = scope.begin(originalGraph, &original)) return error;
  Graph* clone = mint_graph(scope);
  if (clone == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  clone->fetched = false;
  clone->kept = root_of(*original).kept;
  for (auto& [node, task] : clone->kept.tasks) node = 0;
  wire::AsyncFrame<8> frame(CallId::cuGraphClone);
  frame.put(clone->index);
  frame.put(original->index);
  if (CUresult error = scope.post(frame)) return error;
  *phGraphClone = static_cast<CUgraph>(clone->handle);
  return CUDA_SUCCESS;
}

CUresult cuGraphAddNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* dependencyData, size_t numDependencies,
                           CUgraphNodeParams* nodeParams) {
  return add_node(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams);
}

CUresult cuGraphDestroyNode(CUgraphNode hNode) {
  GraphScope scope;
  GraphNode* node = nullptr;
  if (CUresult error = scope.begin(hNode, &node)) return error;
  wire::AsyncFrame<4> frame(CallId::cuGraphDestroyNode);
  frame.put(node->index);
  const CUresult result = scope.post(frame);
  release_node(*scope.session, *node);
  return result;
}

CUresult cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* edgeData, size_t numDependencies) {
  return change_edges(CallId::cuGraphAddDependencies_v2, hGraph, from, to, edgeData, numDependencies);
}

CUresult cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                size_t numDependencies) {
  return cuGraphAddDependencies_v2(hGraph, from, to, nullptr, numDependencies);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData* edgeData, size_t numDependencies) {
  return change_edges(CallId::cuGraphRemoveDependencies_v2, hGraph, from, to, edgeData, numDependencies);
}

CUresult cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t numDependencies) {
  return cuGraphRemoveDependencies_v2(hGraph, from, to, nullptr, numDependencies);
}

}  // namespace sluice::client::calls
