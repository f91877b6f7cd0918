#include "softgpu/graph/graph.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "softgpu/graph/user_object.h"

namespace sluice::softgpu {
namespace {

std::atomic<uint64_t> next_uid{1};
std::atomic<unsigned> next_graph_id{1};

std::unordered_map<const Graph*, std::shared_ptr<Graph>>& published() {
  static auto* graphs = new std::unordered_map<const Graph*, std::shared_ptr<Graph>>;
  return *graphs;
}

// In the order of the alternatives of Work.
constexpr CUgraphNodeType kTypes[] = {
    CU_GRAPH_NODE_TYPE_KERNEL,     CU_GRAPH_NODE_TYPE_MEMCPY,       CU_GRAPH_NODE_TYPE_MEMSET,
    CU_GRAPH_NODE_TYPE_HOST,       CU_GRAPH_NODE_TYPE_GRAPH,        CU_GRAPH_NODE_TYPE_EMPTY,
    CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
    CU_GRAPH_NODE_TYPE_MEM_FREE,
};
static_assert(std::size(kTypes) == std::variant_size_v<Work>);

}  // namespace

std::recursive_mutex& graph_mutex() {
  static auto* mutex = new std::recursive_mutex;
  return *mutex;
}

Node::Node(Graph& owner, unsigned local, Work what)
    : graph(owner),
      uid(next_uid.fetch_add(1)),
      local_id(local),
      work(std::move(what)),
      handle_(create_handle(kKind, this)) {}

Node::~Node() { destroy_handle(handle_); }

CUgraphNodeType Node::type() const { return kTypes[work.index()]; }

Graph::Graph() : id(next_graph_id.fetch_add(1)), handle_(create_handle(kKind, this)) {}

Graph::~Graph() {
  release_all(objects);
  destroy_handle(handle_);
}

Node* Graph::add(Work work) {
  nodes.push_back(std::make_unique<Node>(*this, next_local_++, std::move(work)));
  return nodes.back().get();
}

void Graph::remove(Node& node) {
  while (!node.in.empty()) disconnect(*node.in.back().from, node);
  while (!node.out.empty()) disconnect(node, *node.out.back());
  std::erase_if(nodes, [&](const auto& own) { return own.get() == &node; });
}

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>();
  std::unordered_map<const Node*, Node*> copies;
  for (const auto& node : nodes) {
    Node* made = copy->add(node->work);
    made->cloned_from = node->uid;
    made->enabled = node->enabled;
    if (auto* child = std::get_if<ChildWork>(&made->work)) {
      child->graph = child->graph->clone();
      child->graph->is_child = true;
    }
    copies[node.get()] = made;
  }
  for (const auto& node : nodes) {
    for (const Edge& edge : node->in) connect(*copies[edge.from], *copies[node.get()], edge.data);
  }
  copy->cloned_from = id;
  copy->objects = objects;
  retain_all(copy->objects);
  return copy;
}

Node* Graph::copy_of(uint64_t uid) const {
  for (const auto& node : nodes) {
    if (node->cloned_from == uid) return node.get();
  }
  return nullptr;
}

std::vector<Node*> Graph::order() const {
  std::unordered_map<const Node*, size_t> missing;
  std::vector<Node*> sorted;
  for (const auto& node : nodes) {
    missing[node.get()] = node->in.size();
    if (node->in.empty()) sorted.push_back(node.get());
  }
  for (size_t at = 0; at < sorted.size(); at++) {
    for (Node* next : sorted[at]->out) {
      if (--missing[next] == 0) sorted.push_back(next);
    }
  }
  if (sorted.size() != nodes.size()) sorted.clear();
  return sorted;
}

CUgraph publish_graph(std::shared_ptr<Graph> graph) {
  const CUgraph handle = graph->handle();
  const Graph* key = graph.get();
  published()[key] = std::move(graph);
  return handle;
}

CUresult destroy_graph(CUgraph handle) {
  const auto* graph = lookup<Graph>(handle);
  return graph != nullptr && published().erase(graph) > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult find_nodes(const Graph& graph, const CUgraphNode* handles, size_t count, std::vector<Node*>* out) {
  if (count > 0 && handles == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; i++) {
    auto* node = lookup<Node>(handles[i]);
    if (node == nullptr || &node->graph != &graph) return CUDA_ERROR_INVALID_VALUE;
    if (std::find(out->begin(), out->end(), node) != out->end()) return CUDA_ERROR_INVALID_VALUE;
    out->push_back(node);
  }
  return CUDA_SUCCESS;
}

bool has_edge(const Node& from, const Node& to) {
  return std::find(from.out.begin(), from.out.end(), &to) != from.out.end();
}

void connect(Node& from, Node& to, const CUgraphEdgeData& data) {
  from.out.push_back(&to);
  to.in.push_back({&from, data});
}

void disconnect(Node& from, Node& to) {
  std::erase(from.out, &to);
  std::erase_if(to.in, [&](const Edge& edge) { return edge.from == &from; });
}

}  // namespace sluice::softgpu
