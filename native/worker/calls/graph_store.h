// The graphs of a session: the driver's handles by the client's indices, and what graphs keep alive.
// Used by the leading thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "generated/driver_table.h"
#include "wire/graph_node.h"
#include "worker/calls/graph_task.h"

namespace sluice::worker {

class Session;

// Memory of an allocation node.
struct GraphMemory {
  size_t ordinal = 0;
  uint64_t bytes = 0;
  CUdeviceptr address = 0;
  bool freed_by_graph = false;  // the graph that allocates it frees it
  bool live = false;            // a launch has made it, and nobody has freed it since
};

// What drivers round an allocation to.
inline uint64_t counted_bytes(uint64_t bytes) { return (bytes + 511) / 512 * 512; }

// A node as the client sees it. `first` comes before everything else that the node consists of, `last` after.
struct NodeRecord {
  uint32_t graph = 0;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CUgraphNode first = nullptr;
  CUgraphNode last = nullptr;
  CUgraphNode host = nullptr;  // that runs the task
  CUgraphNode copy = nullptr;  // that moves the task's memory
  GraphTask* task = nullptr;
  std::vector<uint32_t> bodies;  // of a conditional node
  uint64_t conditional = 0;
  uint32_t condition = 0;
};

struct GraphRecord {
  CUgraph graph = nullptr;
  uint32_t context = 0;
  uint32_t parent = 0;      // the graph that it is a part of
  bool tasks_used = false;  // an executable graph has the tasks that the nodes name now
  std::set<uint32_t> nodes;
  std::set<uint32_t> parts;  // graphs of its nodes that the client has handles for
  // Tasks and memory of all its nodes, those of child graphs included.
  std::vector<std::shared_ptr<GraphTask>> tasks;
  std::vector<std::shared_ptr<GraphMemory>> memory;
  // What was described last, in order; the client gives handles for it.
  std::vector<NodeRecord> described;
};

struct ExecRecord {
  CUgraphExec exec = nullptr;
  uint32_t context = 0;
  std::shared_ptr<const TaskList> tasks;
  std::vector<std::shared_ptr<GraphMemory>> memory;
};

class GraphStore {
 public:
  explicit GraphStore(Session& session) : session_(session) {}

  GraphRecord* graph(uint32_t index);
  NodeRecord* node(uint32_t index);
  ExecRecord* exec(uint32_t index);
  // The index by which the client knows the node; zero when it does not.
  uint32_t index_of(CUgraphNode node) const;

  // False for an index that an honest client does not give to a new object.
  // `parent` is not 0 for a part of another graph.
  bool add_graph(uint32_t index, CUgraph graph, uint32_t parent = 0);
  bool add_node(uint32_t index, uint32_t graph, NodeRecord node);
  bool add_exec(uint32_t index, ExecRecord exec);
  // With its nodes and its parts; the driver's graph is destroyed by the caller.
  void remove_graph(uint32_t index);
  void remove_node(uint32_t index);
  // Gives back the memory that the graph has reserved, or leaves it with what is not freed yet.
  void remove_exec(uint32_t index);
  // The context is about to go.
  void forget_context(uint32_t context);

  // The graph's nodes get tasks of their own when an executable graph uses those that they name.
  CUresult own_tasks(GraphRecord& graph);
  // Gives every task in the driver's graph, and in its child graphs, a fresh copy of its own.
  CUresult renew_tasks(CUgraph graph, std::vector<std::shared_ptr<GraphTask>>* fresh);
  // Where tasks and memory of the graph's nodes are kept: the graph that it is a part of, if it is one.
  GraphRecord& root_of(GraphRecord& graph);
  // Keeps `task`, and `old` no longer.
  void replace_task(NodeRecord& node, const std::shared_ptr<GraphTask>& task);
  // The task of a host node; null when the node is none of ours.
  GraphTask* task_of(CUgraphNode host) const;
  // The copy node that moves the task's memory, which is next to the task's host node.
  CUgraphNode copy_of(CUgraphNode host, const GraphTask& task) const;

  // Counts the graph's memory; false when that exceeds the limit.
  bool reserve(const std::vector<std::shared_ptr<GraphMemory>>& memory);
  void release(const std::vector<std::shared_ptr<GraphMemory>>& memory);
  // A node of the graph allocates the memory.
  void allocates(GraphRecord& graph, size_t ordinal, uint64_t bytes, CUdeviceptr address);
  // A node of the graph frees the memory.
  void freed_by_graph(const GraphRecord& graph, CUdeviceptr address);
  // The memory was freed by a call of its own.
  void freed(CUdeviceptr address);

  GraphBuffers buffers;
  std::set<uint64_t> conditionals;
  // Captures that were begun and not ended, by the driver's number.
  struct Capture {
    uint32_t graph;
    bool is_new;  // the capture makes the graph, else it adds to one
  };
  std::map<uint64_t, Capture> captures;
  std::map<CUdeviceptr, std::weak_ptr<GraphMemory>> memory_by_address;

 private:
  Session& session_;
  std::unordered_map<uint32_t, GraphRecord> graphs_;
  std::unordered_map<uint32_t, NodeRecord> nodes_;
  std::unordered_map<uint32_t, ExecRecord> execs_;
  std::unordered_map<CUgraphNode, uint32_t> by_handle_;
};

// All nodes of a driver's graph; false when it cannot list them.
bool list_nodes(generated::DriverTable& driver, CUgraph graph, std::vector<CUgraphNode>* nodes);

}  // namespace sluice::worker
