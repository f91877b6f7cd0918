#include "client/graph_model.h"

#include <algorithm>
#include <cstring>

#include "client/graph_scope.h"
#include "generated/call_ids.h"

namespace sluice::client {

using generated::CallId;

GraphTask::~GraphTask() {
  if (number != 0) session->tasks.forget_graph_task(number);
}

ObjectReferences::~ObjectReferences() {
  if (count == 0) return;
  const std::lock_guard lock(session->user_object_mutex);
  release_references(*session, *object, count);
}

void release_references(Session& session, UserObject& object, uint64_t count) {
  if ((object.references -= count) > 0) return;
  session.tasks.run_later(object.destroy, object.pointer);
  session.user_objects.release(&object);
}

GraphMemory::~GraphMemory() {
  const auto range = session->memory.device_range(address);
  if (range && range->id == id) session->memory.remove_device(address);
}

Graph& root_of(Graph& graph) {
  Graph* root = &graph;
  while (root->parent != nullptr) root = root->parent;
  return *root;
}

Graph* mint_graph(Scope& scope, Graph* parent) {
  Graph* graph = nullptr;
  if (scope.session->graphs.mint(&graph) == nullptr) return nullptr;
  graph->belong_to(scope.context);
  graph->parent = parent;
  if (parent != nullptr) parent->parts.push_back(graph);
  return graph;
}

GraphNode* mint_node(Scope& scope, Graph& graph, NodeData data) {
  GraphNode* node = nullptr;
  if (scope.session->graph_nodes.mint(&node) == nullptr) return nullptr;
  node->graph = &graph;
  node->local_id = graph.next_local_id++;
  node->data = std::move(data);
  graph.nodes.push_back(node);
  return node;
}

void release_graph(Session& session, Graph& graph) {
  for (GraphNode* node : graph.nodes) {
    node->data = {};
    session.graph_nodes.release(node);
  }
  for (Graph* part : graph.parts) release_graph(session, *part);
  graph.nodes.clear();
  graph.parts.clear();
  graph.kept = {};
  session.graphs.release(&graph);
}

void release_node(Session& session, GraphNode& node) {
  for (const GraphNode::Link& link : node.before) {
    std::erase_if(link.node->after, [&](const auto& other) { return other.node == &node; });
  }
  for (const GraphNode::Link& link : node.after) {
    std::erase_if(link.node->before, [&](const auto& other) { return other.node == &node; });
  }
  keep_task(root_of(*node.graph).kept, node.index, nullptr);
  std::erase(node.graph->nodes, &node);
  node.data = {};
  node.before.clear();
  node.after.clear();
  session.graph_nodes.release(&node);
}

void add_link(GraphNode& from, GraphNode& to, const CUgraphEdgeData& data) {
  from.after.push_back({&to, data});
  to.before.push_back({&from, data});
}

bool remove_link(GraphNode& from, GraphNode& to) {
  const auto is_to = [&](const GraphNode::Link& link) { return link.node == &to; };
  const auto is_from = [&](const GraphNode::Link& link) { return link.node == &from; };
  const bool there = std::erase_if(from.after, is_to) > 0;
  std::erase_if(to.before, is_from);
  return there;
}

void know_memory(Scope& scope, Graph& graph, CUdeviceptr address, size_t bytes) {
  auto memory = std::make_shared<GraphMemory>();
  memory->session = scope.session;
  memory->address = address;
  memory->id = scope.session->next_id.fetch_add(1);
  scope.session->memory.add_device({address, bytes, scope.context, nullptr, memory->id});
  root_of(graph).kept.memory.push_back(std::move(memory));
}

void keep_all(GraphKept& kept, const GraphKept& other) {
  for (const auto& [node, task] : other.tasks) kept.tasks.emplace_back(0, task);
  kept.objects.insert(kept.objects.end(), other.objects.begin(), other.objects.end());
  kept.memory.insert(kept.memory.end(), other.memory.begin(), other.memory.end());
}

void keep_task(GraphKept& kept, uint32_t node, const std::shared_ptr<GraphTask>& task) {
  std::erase_if(kept.tasks, [&](const auto& entry) { return entry.first == node; });
  if (task != nullptr) kept.tasks.emplace_back(node, task);
}

namespace {

struct Fetched {
  uint32_t known;
  wire::GraphNode node;
};

// Mints what is new, and tells the worker.
CUresult bind_nodes(Scope& scope, Graph& graph, const std::vector<Fetched>& fetched,
                    std::vector<GraphNode*>* nodes) {
  std::vector<uint32_t> indices;
  for (const Fetched& entry : fetched) {
    GraphNode* node = scope.session->graph_nodes.at_index(entry.known);
    if (node == nullptr) node = mint_node(scope, graph, from_wire(*scope.session, entry.node));
    if (node == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    if (node->graph != &graph) return CUDA_ERROR_UNKNOWN;
    nodes->push_back(node);
    indices.push_back(node->index);
  }
  wire::DynamicFrame frame(wire::ControlCall::graph_bind, wire::kBulk);
  frame.arguments().put(graph.index);
  const size_t bytes = indices.size() * sizeof(uint32_t);
  frame.complete(bytes);
  return scope.channel->post(scope.context_index(), frame.data(), frame.size(), indices.data(), bytes);
}

}  // namespace

CUresult fetch(Scope& scope, Graph& graph) {
  if (graph.fetched) return CUDA_SUCCESS;
  wire::SyncFrame<4> frame(CallId::cuGraphGetNodes);
  frame.put(graph.index);
  std::vector<uint8_t> table;
  Reply reply{nullptr, 0, &table};
  if (CUresult error = scope.call_raw(frame.data(), frame.size(), &reply)) return error;
  wire::Reader reader(table.data(), table.size());
  std::vector<Fetched> fetched(reader.count(wire::kMaxGraphNodes, 2 * sizeof(uint32_t)));
  for (Fetched& entry : fetched) {
    entry.known = reader.get<uint32_t>();
    entry.node = wire::get_node(reader);
    if (reader.failed()) return CUDA_ERROR_UNKNOWN;
  }
  std::vector<GraphNode*> nodes;
  if (CUresult error = bind_nodes(scope, graph, fetched, &nodes)) return error;
  for (GraphNode* node : nodes) {
    node->before.clear();
    node->after.clear();
  }
  const uint32_t edges = reader.count(UINT32_MAX, 2 * sizeof(uint32_t) + sizeof(CUgraphEdgeData));
  for (uint32_t i = 0; i < edges; i++) {
    const auto from = reader.get<uint32_t>();
    const auto to = reader.get<uint32_t>();
    CUgraphEdgeData data{};
    if (const uint8_t* bytes = reader.bytes(sizeof data)) std::memcpy(&data, bytes, sizeof data);
    if (from >= nodes.size() || to >= nodes.size()) return CUDA_ERROR_UNKNOWN;
    add_link(*nodes[from], *nodes[to], data);
  }
  graph.nodes = std::move(nodes);
  graph.fetched = reader.finished();
  return graph.fetched ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

}  // namespace sluice::client
