// Building graphs: what the client has decided on, done with the driver.
#include <cstring>

#include "worker/calls/graph_node.h"

namespace sluice::worker::calls {
namespace {

// Reads a number of edges, each a node and eight bytes of data; false for nodes that there are not.
bool read_edges(Session& session, wire::Reader& args, uint32_t graph, NodeEdges* edges) {
  const uint32_t count = args.count(wire::kMaxEdges, sizeof(uint32_t) + sizeof(CUgraphEdgeData));
  bool known = true;
  for (uint32_t i = 0; i < count; i++) {
    const NodeRecord* from = session.graphs.node(args.get<uint32_t>());
    CUgraphEdgeData data{};
    if (const uint8_t* bytes = args.bytes(sizeof data)) std::memcpy(&data, bytes, sizeof data);
    known = known && from != nullptr && from->graph == graph;
    if (!known) continue;
    edges->nodes.push_back(from->last);
    edges->data.push_back(data);
  }
  return known;
}

// Binds the graphs that are the bodies of a conditional node.
bool bind_bodies(Session& session, uint32_t graph, const std::vector<uint32_t>& indices,
                 const std::vector<CUgraph>& bodies) {
  for (size_t i = 0; i < indices.size() && i < bodies.size(); i++) {
    if (!session.graphs.add_graph(indices[i], bodies[i], graph)) return false;
  }
  return true;
}

void change_edges(Session& session, Request& request, bool add) {
  const auto graph_index = request.args.get<uint32_t>();
  const uint32_t count = request.args.count(wire::kMaxEdges, 2 * sizeof(uint32_t) + sizeof(CUgraphEdgeData));
  std::vector<CUgraphNode> from;
  std::vector<CUgraphNode> to;
  std::vector<CUgraphEdgeData> data(count);
  bool known = true;
  bool plain = true;
  for (uint32_t i = 0; i < count; i++) {
    const NodeRecord* first = session.graphs.node(request.args.get<uint32_t>());
    const NodeRecord* second = session.graphs.node(request.args.get<uint32_t>());
    if (const uint8_t* bytes = request.args.bytes(sizeof data[i]))
      std::memcpy(&data[i], bytes, sizeof data[i]);
    known = known && first != nullptr && second != nullptr && first->graph == graph_index &&
            second->graph == graph_index;
    if (!known) continue;
    from.push_back(first->last);
    to.push_back(second->first);
    plain = plain && data[i].type == 0 && data[i].from_port == 0;
  }
  if (!request.args.finished()) return session.bad_frame(request);
  const GraphRecord* graph = session.graphs.graph(graph_index);
  if (graph == nullptr || !known) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  auto& driver = session.driver;
  const size_t n = from.size();
  CUresult result = CUDA_SUCCESS;
  if (plain) {
    const auto change = add ? driver.cuGraphAddDependencies : driver.cuGraphRemoveDependencies;
    result = call(change, graph->graph, from.data(), to.data(), n);
  } else {
    const auto change = add ? driver.cuGraphAddDependencies_v2 : driver.cuGraphRemoveDependencies_v2;
    result = call(change, graph->graph, from.data(), to.data(), data.data(), n);
  }
  session.finish(request, result);
}

}  // namespace

void cuGraphCreate(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const auto flags = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUgraph graph = nullptr;
  const CUresult result = call(session.driver.cuGraphCreate, &graph, flags);
  if (result == CUDA_SUCCESS && !session.graphs.add_graph(index, graph)) return session.bad_frame(request);
  session.finish(request, result);
}

void cuGraphDestroy(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  const GraphRecord* graph = session.graphs.graph(index);
  if (graph == nullptr || graph->parent != 0) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  const CUresult result = call(session.driver.cuGraphDestroy, graph->graph);
  session.graphs.remove_graph(index);
  session.finish(request, result);
}

// The client's call is cuGraphAddNode_v2 for all kinds; the driver's is the one for the kind.
void cuGraphAddNode_v2(Session& session, Request& request) {
  const auto graph_index = request.args.get<uint32_t>();
  const auto index = request.args.get<uint32_t>();
  NodeEdges edges;
  const bool known = read_edges(session, request.args, graph_index, &edges);
  wire::GraphNode node = wire::get_node(request.args);
  if (!request.args.finished()) return session.bad_frame(request);
  GraphRecord* graph = session.graphs.graph(graph_index);
  if (graph == nullptr || !known) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  GraphRecord& root = session.graphs.root_of(*graph);
  NodeRecord record;
  std::shared_ptr<GraphTask> task;
  std::vector<CUgraph> bodies;
  const CUresult result = make_node(session, graph->graph, edges, node, &record, &task, &bodies);
  if (result != CUDA_SUCCESS) return session.finish(request, result);
  const CUgraphNode made = record.first;
  if (!session.graphs.add_node(index, graph_index, std::move(record))) return session.bad_frame(request);
  if (task != nullptr) root.tasks.push_back(task);
  if (node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    session.graphs.allocates(root, static_cast<size_t>(node.device), node.bytes, node.address);
  }
  if (node.type == CU_GRAPH_NODE_TYPE_MEM_FREE) session.graphs.freed_by_graph(root, node.address);
  if (!bind_bodies(session, graph_index, node.bodies, bodies)) return session.bad_frame(request);
  wire::Writer answer;
  if (node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) answer.put(node.address);
  if (node.type != CU_GRAPH_NODE_TYPE_GRAPH) return session.finish(request, result, answer);
  // The node has a copy of the child, which must not share the child's tasks.
  const GraphRecord& child = session.graphs.root_of(*session.graphs.graph(node.graph));
  CUgraph own = nullptr;
  CUresult renewed = call(session.driver.cuGraphChildGraphNodeGetGraph, made, &own);
  if (renewed == CUDA_SUCCESS && !child.tasks.empty()) {
    renewed = session.graphs.renew_tasks(own, &root.tasks);
  }
  root.memory.insert(root.memory.end(), child.memory.begin(), child.memory.end());
  session.finish(request, renewed);
}

void cuGraphDestroyNode(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  const NodeRecord* node = session.graphs.node(index);
  if (node == nullptr) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  CUresult result = call(session.driver.cuGraphDestroyNode, node->first);
  if (result == CUDA_SUCCESS) {
    if (node->last != node->first) result = session.driver.cuGraphDestroyNode(node->last);
    session.graphs.remove_node(index);
  }
  session.finish(request, result);
}

void cuGraphAddDependencies_v2(Session& session, Request& request) { change_edges(session, request, true); }
void cuGraphRemoveDependencies_v2(Session& session, Request& request) {
  change_edges(session, request, false);
}

void cuGraphNodeSetParams(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  wire::GraphNode node = wire::get_node(request.args);
  if (!request.args.finished()) return session.bad_frame(request);
  NodeRecord* record = session.graphs.node(index);
  if (record == nullptr) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  session.finish(request, set_node(session, *record, node));
}

void cuGraphClone(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const auto original_index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  GraphRecord* original = session.graphs.graph(original_index);
  if (original == nullptr) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  CUgraph graph = nullptr;
  CUresult result = call(session.driver.cuGraphClone, &graph, original->graph);
  if (result != CUDA_SUCCESS) return session.finish(request, result);
  if (!session.graphs.add_graph(index, graph)) return session.bad_frame(request);
  const GraphRecord& root = session.graphs.root_of(*session.graphs.graph(original_index));
  GraphRecord& clone = *session.graphs.graph(index);
  clone.memory = root.memory;
  if (!root.tasks.empty()) result = session.graphs.renew_tasks(graph, &clone.tasks);
  session.finish(request, result);
}

// Answers with the index of the node in the clone, whose nodes the client has given handles to before.
void cuGraphNodeFindInClone(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const auto clone_index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  const NodeRecord* node = session.graphs.node(index);
  const GraphRecord* clone = session.graphs.graph(clone_index);
  if (node == nullptr || clone == nullptr) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  CUgraphNode found = nullptr;
  const CUresult result = call(session.driver.cuGraphNodeFindInClone, &found, node->first, clone->graph);
  wire::Writer answer;
  if (result == CUDA_SUCCESS) answer.put(session.graphs.index_of(found));
  session.finish(request, result, answer);
}

void cuGraphKernelNodeCopyAttributes(Session& session, Request& request) {
  const NodeRecord* dst = session.graphs.node(request.args.get<uint32_t>());
  const NodeRecord* src = session.graphs.node(request.args.get<uint32_t>());
  if (!request.args.finished()) return session.bad_frame(request);
  if (dst == nullptr || src == nullptr) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  session.finish(request, call(session.driver.cuGraphKernelNodeCopyAttributes, dst->first, src->first));
}

void cuGraphKernelNodeGetAttribute(Session& session, Request& request) {
  const NodeRecord* node = session.graphs.node(request.args.get<uint32_t>());
  const auto id = static_cast<CUlaunchAttributeID>(request.args.get<uint32_t>());
  if (!request.args.finished()) return session.bad_frame(request);
  if (node == nullptr) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  if (names_a_handle(id)) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  CUlaunchAttributeValue value{};
  const CUresult result = call(session.driver.cuGraphKernelNodeGetAttribute, node->first, id, &value);
  wire::Writer answer;
  if (result == CUDA_SUCCESS) answer.bytes(&value, sizeof value);
  session.finish(request, result, answer);
}

void cuGraphKernelNodeSetAttribute(Session& session, Request& request) {
  const NodeRecord* node = session.graphs.node(request.args.get<uint32_t>());
  const auto id = static_cast<CUlaunchAttributeID>(request.args.get<uint32_t>());
  CUlaunchAttributeValue value{};
  if (const uint8_t* bytes = request.args.bytes(sizeof value)) std::memcpy(&value, bytes, sizeof value);
  if (!request.args.finished()) return session.bad_frame(request);
  if (node == nullptr) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  if (names_a_handle(id)) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  session.finish(request, call(session.driver.cuGraphKernelNodeSetAttribute, node->first, id, &value));
}

void cuGraphConditionalHandleCreate(Session& session, Request& request) {
  constexpr size_t kMostHandles = 1u << 16;
  const GraphRecord* graph = session.graphs.graph(request.args.get<uint32_t>());
  const auto context_index = request.args.get<uint32_t>();
  const auto value = request.args.get<uint32_t>();
  const auto flags = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUcontext context = nullptr;
  if (graph == nullptr || (context_index != 0 && !session.find(context_index, &context)) ||
      session.graphs.conditionals.size() >= kMostHandles) {
    return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  }
  CUgraphConditionalHandle handle = 0;
  const CUresult result =
      call(session.driver.cuGraphConditionalHandleCreate, &handle, graph->graph, context, value, flags);
  wire::Writer answer;
  if (result == CUDA_SUCCESS) {
    session.graphs.conditionals.insert(handle);
    answer.put(uint64_t{handle});
  }
  session.finish(request, result, answer);
}

// The graph inside a node, by a handle of its own.
void graph_child(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const auto node_index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  const NodeRecord* node = session.graphs.node(node_index);
  if (node == nullptr) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  CUgraph graph = nullptr;
  const CUresult result = call(session.driver.cuGraphChildGraphNodeGetGraph, node->first, &graph);
  if (result == CUDA_SUCCESS && !session.graphs.add_graph(index, graph, node->graph)) {
    return session.bad_frame(request);
  }
  session.finish(request, result);
}

}  // namespace sluice::worker::calls
