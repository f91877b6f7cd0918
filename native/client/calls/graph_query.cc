// Questions about graphs, answered from what the client knows.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "client/graph_scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

// CUDA's way of listing: without an array the count; with one as many as there is room for, and null handles
// in what is left of it.
template <typename List, typename Fill>
void list(const List& found, bool wanted, size_t* count, Fill&& fill) {
  if (wanted) {
    for (size_t i = 0; i < *count; i++) fill(i, i < found.size() ? &found[i] : nullptr);
  }
  *count = wanted ? std::min(*count, found.size()) : found.size();
}

CUgraphNode handle_of(const GraphNode* node) { return static_cast<CUgraphNode>(node->handle); }

CUresult list_nodes(CUgraph hGraph, CUgraphNode* nodes, size_t* count, bool roots_only) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  Graph* graph = nullptr;
  if (CUresult error = scope.begin(hGraph, &graph)) return error;
  if (CUresult error = fetch(scope, *graph)) return error;
  std::vector<GraphNode*> found;
  for (GraphNode* node : graph->nodes) {
    if (!roots_only || node->before.empty()) found.push_back(node);
  }
  list(found, nodes != nullptr, count,
       [&](size_t i, GraphNode* const* node) { nodes[i] = node ? handle_of(*node) : nullptr; });
  return CUDA_SUCCESS;
}

CUresult list_links(CUgraphNode hNode, std::vector<GraphNode::Link> GraphNode::*links, CUgraphNode* nodes,
                    CUgraphEdgeData* data, size_t* count) {
  if (count == nullptr || (data != nullptr && nodes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  GraphNode* node = nullptr;
  if (CUresult error = scope.begin(hNode, &node)) return error;
  if (CUresult error = fetch(scope, *node->graph)) return error;
  list(node->*links, nodes != nullptr, count, [&](size_t i, const GraphNode::Link* link) {
    nodes[i] = link ? handle_of(link->node) : nullptr;
    if (data != nullptr) data[i] = link ? link->data : CUgraphEdgeData{};
  });
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode* nodes, size_t* numNodes) {
  return list_nodes(hGraph, nodes, numNodes, false);
}

CUresult cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode* rootNodes, size_t* numRootNodes) {
  return list_nodes(hGraph, rootNodes, numRootNodes, true);
}

CUresult cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edgeData,
                            size_t* numEdges) {
  if (numEdges == nullptr || (from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  if (edgeData != nullptr && from == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  Graph* graph = nullptr;
  if (CUresult error = scope.begin(hGraph, &graph)) return error;
  if (CUresult error = fetch(scope, *graph)) return error;
  struct Edge {
    GraphNode* from;
    GraphNode::Link to;
  };
  std::vector<Edge> edges;
  for (GraphNode* node : graph->nodes) {
    for (const GraphNode::Link& link : node->after) edges.push_back({node, link});
  }
  list(edges, from != nullptr, numEdges, [&](size_t i, const Edge* edge) {
    from[i] = edge ? handle_of(edge->from) : nullptr;
    to[i] = edge ? handle_of(edge->to.node) : nullptr;
    if (edgeData != nullptr) edgeData[i] = edge ? edge->to.data : CUgraphEdgeData{};
  });
  return CUDA_SUCCESS;
}

CUresult cuGraphGetEdges(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, size_t* numEdges) {
  return cuGraphGetEdges_v2(hGraph, from, to, nullptr, numEdges);
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode* dependencies,
                                       CUgraphEdgeData* edgeData, size_t* numDependencies) {
  return list_links(hNode, &GraphNode::before, dependencies, edgeData, numDependencies);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode* dependencies, size_t* numDependencies) {
  return cuGraphNodeGetDependencies_v2(hNode, dependencies, nullptr, numDependencies);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode* dependentNodes,
                                         CUgraphEdgeData* edgeData, size_t* numDependentNodes) {
  return list_links(hNode, &GraphNode::after, dependentNodes, edgeData, numDependentNodes);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode* dependentNodes,
                                      size_t* numDependentNodes) {
  return cuGraphNodeGetDependentNodes_v2(hNode, dependentNodes, nullptr, numDependentNodes);
}

CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType* type) {
  if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  GraphNode* node = nullptr;
  if (CUresult error = scope.begin(hNode, &node)) return error;
  *type = node->data.params.type;
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetContainingGraph(CUgraphNode hNode, CUgraph* phGraph) {
  if (phGraph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  GraphNode* node = nullptr;
  if (CUresult error = scope.begin(hNode, &node)) return error;
  *phGraph = static_cast<CUgraph>(node->graph->handle);
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetLocalId(CUgraphNode hNode, unsigned int* nodeId) {
  if (nodeId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  GraphNode* node = nullptr;
  if (CUresult error = scope.begin(hNode, &node)) return error;
  *nodeId = node->local_id;
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetToolsId(CUgraphNode hNode, unsigned long long* toolsNodeId) {
  if (toolsNodeId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  GraphNode* node = nullptr;
  if (CUresult error = scope.begin(hNode, &node)) return error;
  *toolsNodeId = (uint64_t{node->graph->index} << 32) | node->local_id;
  return CUDA_SUCCESS;
}

CUresult cuGraphGetId(CUgraph hGraph, unsigned int* graphId) {
  if (graphId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  Graph* graph = nullptr;
  if (CUresult error = scope.begin(hGraph, &graph)) return error;
  *graphId = graph->index;
  return CUDA_SUCCESS;
}

CUresult cuGraphExecGetId(CUgraphExec hGraphExec, unsigned int* graphId) {
  if (graphId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  GraphExec* exec = nullptr;
  if (CUresult error = scope.begin(hGraphExec, &exec)) return error;
  *graphId = exec->index;
  return CUDA_SUCCESS;
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph* phGraph) {
  if (phGraph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  GraphNode* node = nullptr;
  if (CUresult error = scope.begin(hNode, &node)) return error;
  if (node->data.params.type != CU_GRAPH_NODE_TYPE_GRAPH) return CUDA_ERROR_INVALID_VALUE;
  if (node->child == nullptr) {
    Graph* child = mint_graph(scope, node->graph);
    if (child == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    child->fetched = false;
    wire::AsyncFrame<8> frame(wire::ControlCall::graph_child);
    frame.put(child->index);
    frame.put(node->index);
    if (CUresult error = scope.post(frame)) return error;
    node->child = child;
  }
  *phGraph = static_cast<CUgraph>(node->child->handle);
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeFindInClone(CUgraphNode* phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph) {
  if (phNode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  Graph* clone = nullptr;
  GraphNode* original = nullptr;
  if (CUresult error = scope.begin(hClonedGraph, &clone)) return error;
  if (CUresult error = scope.find(hOriginalNode, &original)) return error;
  if (CUresult error = fetch(scope, *clone)) return error;
  wire::SyncFrame<8> frame(CallId::cuGraphNodeFindInClone);
  frame.put(original->index);
  frame.put(clone->index);
  wire::FixedReply<4> reply;
  if (CUresult error = scope.call(frame, reply)) return error;
  const GraphNode* found = scope.session->graph_nodes.at_index(reply.get<uint32_t>());
  if (!reply.complete() || found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *phNode = handle_of(found);
  return CUDA_SUCCESS;
}

CUresult cuGraphDebugDotPrint(CUgraph hGraph, const char* path, unsigned int flags) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  Graph* graph = nullptr;
  if (CUresult error = scope.begin(hGraph, &graph)) return error;
  wire::SyncFrame<8> frame(CallId::cuGraphDebugDotPrint);
  frame.put(graph->index);
  frame.put(uint32_t{flags});
  std::vector<uint8_t> text;
  Reply reply{nullptr, 0, &text};
  if (CUresult error = scope.call_raw(frame.data(), frame.size(), &reply)) return error;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "wb"), std::fclose);
  if (file == nullptr || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size())
    return CUDA_ERROR_OPERATING_SYSTEM;
  return CUDA_SUCCESS;
}

}  // namespace sluice::client::calls
