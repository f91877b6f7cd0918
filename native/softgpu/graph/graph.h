// Graphs: nodes that each describe one piece of work, and the order between them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <variant>
#include <vector>

#include "common/cuda_types.h"
#include "softgpu/graph/graph_memory.h"
#include "softgpu/handle.h"

namespace sluice::softgpu {

class Graph;
class Node;
class UserObject;

struct KernelWork {
  CUDA_KERNEL_NODE_PARAMS_v2 what;  // without the addresses of parameters
  std::vector<std::byte> packed;    // the parameters as the kernel's layout has them
  std::vector<void*> addresses;     // into `packed`, for who asks for the parameters
  std::vector<CUlaunchAttribute> attributes;
};
struct CopyWork {
  CUDA_MEMCPY3D what;
  CUcontext context;
};
struct FillWork {
  CUDA_MEMSET_NODE_PARAMS_v2 what;
};
struct HostWork {
  CUDA_HOST_NODE_PARAMS what;
};
struct ChildWork {
  std::shared_ptr<Graph> graph;
};
struct EmptyWork {};
struct WaitWork {
  CUevent event;
};
struct RecordWork {
  CUevent event;
};
struct AllocWork {
  CUDA_MEM_ALLOC_NODE_PARAMS what;
  std::vector<CUmemAccessDesc> access;
  std::shared_ptr<GraphMemory> memory;
};
struct FreeWork {
  CUdeviceptr address;
};

using Work = std::variant<KernelWork, CopyWork, FillWork, HostWork, ChildWork, EmptyWork, WaitWork,
                          RecordWork, AllocWork, FreeWork>;

struct Edge {
  Node* from;
  CUgraphEdgeData data;
};

class Node {
 public:
  static constexpr HandleKind kKind = HandleKind::kGraphNode;

  Node(Graph& owner, unsigned local, Work what);
  ~Node();
  CUgraphNode handle() const { return static_cast<CUgraphNode>(handle_); }
  CUgraphNodeType type() const;

  Graph& graph;
  const uint64_t uid;        // of all nodes of this process
  const unsigned local_id;   // within the graph
  uint64_t cloned_from = 0;  // the uid of the node that this one is a copy of; 0 for none
  bool enabled = true;       // of instantiated graphs
  Work work;
  std::vector<Edge> in;
  std::vector<Node*> out;

 private:
  void* handle_;
};

class Graph : public std::enable_shared_from_this<Graph> {
 public:
  static constexpr HandleKind kKind = HandleKind::kGraph;

  Graph();
  ~Graph();
  CUgraph handle() const { return static_cast<CUgraph>(handle_); }

  Node* add(Work work);
  // The node and its edges are gone afterwards.
  void remove(Node& node);
  // A copy whose nodes know what they are copies of; child graphs are copied with it.
  std::shared_ptr<Graph> clone() const;
  Node* copy_of(uint64_t uid) const;
  // Each node after those that it depends on, otherwise as they were added; empty when there is a cycle in a
  // graph that has nodes.
  std::vector<Node*> order() const;

  const unsigned id;
  bool is_child = false;     // belongs to a node
  uint64_t cloned_from = 0;  // id of the graph that this one is a copy of
  std::vector<std::unique_ptr<Node>> nodes;
  std::map<UserObject*, unsigned> objects;  // references that the graph holds

 private:
  void* handle_;
  unsigned next_local_ = 0;
};

// Guards all graphs, instantiated graphs and captures. Programs may not use one graph in two threads at
// once; those that do must get errors and no crash.
std::recursive_mutex& graph_mutex();

// Graphs that programs have made and not destroyed.
CUgraph publish_graph(std::shared_ptr<Graph> graph);
// INVALID_VALUE for what is no graph of the program's own to destroy.
CUresult destroy_graph(CUgraph handle);

// The nodes behind handles; INVALID_VALUE for what is none, is of another graph, or is there twice.
CUresult find_nodes(const Graph& graph, const CUgraphNode* handles, size_t count, std::vector<Node*>* out);
bool has_edge(const Node& from, const Node& to);
void connect(Node& from, Node& to, const CUgraphEdgeData& data);
void disconnect(Node& from, Node& to);

}  // namespace sluice::softgpu
