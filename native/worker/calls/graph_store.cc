#include "worker/calls/graph_store.h"

#include <utility>

#include "worker/calls/session.h"

namespace sluice::worker {
namespace {

bool is_index(uint32_t index) { return index != 0 && index < wire::kMaxHandles; }

template <typename Map>
auto* find_in(Map& map, uint32_t index) {
  const auto at = map.find(index);
  return at == map.end() ? nullptr : &at->second;
}

}  // namespace

bool list_nodes(generated::DriverTable& driver, CUgraph graph, std::vector<CUgraphNode>* nodes) {
  size_t count = 0;
  if (driver.cuGraphGetNodes == nullptr || driver.cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS) {
    return false;
  }
  nodes->resize(count);
  if (count > 0 && driver.cuGraphGetNodes(graph, nodes->data(), &count) != CUDA_SUCCESS) return false;
  nodes->resize(count);
  return true;
}

GraphRecord* GraphStore::graph(uint32_t index) { return find_in(graphs_, index); }
NodeRecord* GraphStore::node(uint32_t index) { return find_in(nodes_, index); }
ExecRecord* GraphStore::exec(uint32_t index) { return find_in(execs_, index); }

uint32_t GraphStore::index_of(CUgraphNode node) const {
  const auto at = by_handle_.find(node);
  return at == by_handle_.end() ? 0 : at->second;
}

bool GraphStore::add_graph(uint32_t index, CUgraph graph, uint32_t parent) {
  GraphRecord* owner = parent == 0 ? nullptr : this->graph(parent);
  if (!is_index(index) || (parent != 0 && owner == nullptr)) return false;
  GraphRecord record;
  record.graph = graph;
  record.context = session_.current_context();
  record.parent = parent;
  if (!graphs_.emplace(index, std::move(record)).second) return false;
  if (parent != 0) this->graph(parent)->parts.insert(index);
  return true;
}

bool GraphStore::add_node(uint32_t index, uint32_t graph, NodeRecord node) {
  GraphRecord* owner = this->graph(graph);
  if (!is_index(index) || owner == nullptr || owner->nodes.size() >= wire::kMaxGraphNodes) return false;
  node.graph = graph;
  const CUgraphNode handles[] = {node.first, node.last, node.host, node.copy};
  if (!nodes_.emplace(index, std::move(node)).second) return false;
  for (const CUgraphNode handle : handles) {
    if (handle != nullptr) by_handle_[handle] = index;
  }
  owner->nodes.insert(index);
  return true;
}

bool GraphStore::add_exec(uint32_t index, ExecRecord exec) {
  if (!is_index(index)) return false;
  exec.context = session_.current_context();
  return execs_.emplace(index, std::move(exec)).second;
}

void GraphStore::remove_graph(uint32_t index) {
  auto record = graphs_.extract(index);
  if (record.empty()) return;
  for (const uint32_t node : record.mapped().nodes) {
    if (const NodeRecord* known = this->node(node)) {
      for (const CUgraphNode handle : {known->first, known->last, known->host, known->copy}) {
        by_handle_.erase(handle);
      }
      nodes_.erase(node);
    }
  }
  for (const uint32_t part : record.mapped().parts) remove_graph(part);
}

void GraphStore::remove_node(uint32_t index) {
  const NodeRecord* record = node(index);
  if (record == nullptr) return;
  for (const CUgraphNode handle : {record->first, record->last, record->host, record->copy}) {
    by_handle_.erase(handle);
  }
  replace_task(*node(index), nullptr);
  if (GraphRecord* owner = graph(record->graph)) owner->nodes.erase(index);
  nodes_.erase(index);
}

GraphRecord& GraphStore::root_of(GraphRecord& graph) {
  GraphRecord* root = &graph;
  while (root->parent != 0) root = this->graph(root->parent);
  return *root;
}

void GraphStore::replace_task(NodeRecord& node, const std::shared_ptr<GraphTask>& task) {
  GraphRecord* owner = graph(node.graph);
  if (owner != nullptr) {
    auto& tasks = root_of(*owner).tasks;
    std::erase_if(tasks, [&](const auto& kept) { return kept.get() == node.task; });
    if (task != nullptr) tasks.push_back(task);
  }
  node.task = task.get();
}

void GraphStore::remove_exec(uint32_t index) {
  auto record = execs_.extract(index);
  if (!record.empty()) release(record.mapped().memory);
}

void GraphStore::forget_context(uint32_t context) {
  std::vector<uint32_t> gone;
  for (const auto& [index, exec] : execs_) {
    if (exec.context == context) gone.push_back(index);
  }
  for (const uint32_t index : gone) {
    for (const auto& memory : execs_[index].memory) memory->live = false;  // it goes with the context
    if (session_.driver.cuGraphExecDestroy != nullptr) session_.driver.cuGraphExecDestroy(execs_[index].exec);
    remove_exec(index);
  }
  gone.clear();
  for (const auto& [index, graph] : graphs_) {
    if (graph.context == context && graph.parent == 0) gone.push_back(index);
  }
  for (const uint32_t index : gone) {
    if (session_.driver.cuGraphDestroy != nullptr) session_.driver.cuGraphDestroy(graphs_[index].graph);
    remove_graph(index);
  }
}

bool GraphStore::reserve(const std::vector<std::shared_ptr<GraphMemory>>& memory) {
  for (size_t i = 0; i < memory.size(); i++) {
    if (session_.context.memory.reserve(memory[i]->ordinal, memory[i]->bytes)) continue;
    while (i-- > 0) session_.context.memory.release(memory[i]->ordinal, memory[i]->bytes);
    return false;
  }
  return true;
}

void GraphStore::release(const std::vector<std::shared_ptr<GraphMemory>>& memory) {
  for (const auto& entry : memory) {
    if (entry->live && !session_.allocations.contains(entry->address)) {
      session_.allocations[entry->address] = {entry->ordinal, entry->bytes, session_.current_context()};
    } else {
      session_.context.memory.release(entry->ordinal, entry->bytes);
    }
  }
}

void GraphStore::allocates(GraphRecord& graph, size_t ordinal, uint64_t bytes, CUdeviceptr address) {
  auto memory = std::make_shared<GraphMemory>(GraphMemory{ordinal, counted_bytes(bytes), address});
  memory_by_address[address] = memory;
  root_of(graph).memory.push_back(std::move(memory));
}

void GraphStore::freed_by_graph(const GraphRecord& graph, CUdeviceptr address) {
  for (const auto& memory : graph.memory) {
    if (memory->address == address) memory->freed_by_graph = true;
  }
}

void GraphStore::freed(CUdeviceptr address) {
  const auto at = memory_by_address.find(address);
  if (at == memory_by_address.end()) return;
  if (const auto memory = at->second.lock()) {
    memory->live = false;
  } else {
    memory_by_address.erase(at);
  }
}

GraphTask* GraphStore::task_of(CUgraphNode host) const {
  CUDA_HOST_NODE_PARAMS params{};
  if (session_.driver.cuGraphHostNodeGetParams == nullptr ||
      session_.driver.cuGraphHostNodeGetParams(host, &params) != CUDA_SUCCESS) {
    return nullptr;
  }
  return params.fn == run_graph_task ? static_cast<GraphTask*>(params.userData) : nullptr;
}

CUgraphNode GraphStore::copy_of(CUgraphNode host, const GraphTask& task) const {
  const bool fetches = task.kind == GraphTaskKind::fetch;
  const auto neighbours =
      fetches ? session_.driver.cuGraphNodeGetDependentNodes : session_.driver.cuGraphNodeGetDependencies;
  size_t count = 0;
  if (neighbours == nullptr || neighbours(host, nullptr, &count) != CUDA_SUCCESS) return nullptr;
  std::vector<CUgraphNode> nodes(count);
  if (count == 0 || neighbours(host, nodes.data(), &count) != CUDA_SUCCESS) return nullptr;
  for (const CUgraphNode node : nodes) {
    CUgraphNodeType type{};
    CUDA_MEMCPY3D copy{};
    if (session_.driver.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS ||
        type != CU_GRAPH_NODE_TYPE_MEMCPY ||
        session_.driver.cuGraphMemcpyNodeGetParams(node, &copy) != CUDA_SUCCESS) {
      continue;
    }
    // A driver may have found out that an address is the host's, and may say where it lies either way.
    const auto memory = reinterpret_cast<CUdeviceptr>(task.memory);
    const bool is_it = fetches ? copy.srcHost == task.memory || copy.srcDevice == memory
                               : copy.dstHost == task.memory || copy.dstDevice == memory;
    if (is_it) return node;
  }
  return nullptr;
}

CUresult GraphStore::own_tasks(GraphRecord& graph) {
  if (!graph.tasks_used) {
    graph.tasks_used = true;
    return CUDA_SUCCESS;
  }
  if (graph.tasks.empty()) return CUDA_SUCCESS;
  std::vector<std::shared_ptr<GraphTask>> fresh;
  const CUresult result = renew_tasks(graph.graph, &fresh);
  if (result == CUDA_SUCCESS) graph.tasks.swap(fresh);
  // Half of a failed renewal is kept with the old ones: nodes may name either.
  if (result != CUDA_SUCCESS) graph.tasks.insert(graph.tasks.end(), fresh.begin(), fresh.end());
  return result;
}

CUresult GraphStore::renew_tasks(CUgraph graph, std::vector<std::shared_ptr<GraphTask>>* fresh) {
  auto& driver = session_.driver;
  std::vector<CUgraphNode> nodes;
  if (!list_nodes(driver, graph, &nodes)) return CUDA_ERROR_NOT_SUPPORTED;
  for (const CUgraphNode node : nodes) {
    CUgraphNodeType type{};
    if (CUresult error = driver.cuGraphNodeGetType(node, &type)) return error;
    if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
      CUgraph child = nullptr;
      if (CUresult error = driver.cuGraphChildGraphNodeGetGraph(node, &child)) return error;
      if (CUresult error = renew_tasks(child, fresh)) return error;
    }
    const GraphTask* task = type == CU_GRAPH_NODE_TYPE_HOST ? task_of(node) : nullptr;
    if (task == nullptr) continue;
    auto own = GraphTask::create(&session_, task->kind, task->number, task->bytes, task->is_copy);
    if (own == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    fresh->push_back(own);
    if (task->memory != nullptr) {
      const CUgraphNode copy_node = copy_of(node, *task);
      CUDA_MEMCPY3D copy{};
      if (copy_node == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
      if (CUresult error = driver.cuGraphMemcpyNodeGetParams(copy_node, &copy)) return error;
      if (task->kind == GraphTaskKind::fetch) {
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost = own->memory;
      } else {
        copy.dstMemoryType = CU_MEMORYTYPE_HOST;
        copy.dstHost = own->memory;
      }
      if (CUresult error = driver.cuGraphMemcpyNodeSetParams(copy_node, &copy)) return error;
    }
    CUDA_HOST_NODE_PARAMS params{run_graph_task, own.get()};
    if (CUresult error = driver.cuGraphHostNodeSetParams(node, &params)) return error;
    if (NodeRecord* known = this->node(index_of(node))) known->task = own.get();
  }
  return CUDA_SUCCESS;
}

}  // namespace sluice::worker
