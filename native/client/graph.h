// Graphs as the client knows them: nodes, edges, parameters, and what has to live as long as launches run.
// What the program built is known here without asking; what the driver made by itself (by capture, as a copy)
// is fetched when it is asked about.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "client/objects.h"
#include "wire/graph_node.h"

namespace sluice::client {

struct Session;
struct Graph;

// What a node has the client do with each launch: a function, or a copy from, to or within its memory.
struct GraphTask {
  Session* session = nullptr;
  Channel* channel = nullptr;
  uint32_t number = 0;
  CUhostFn function = nullptr;
  void* user_data = nullptr;
  bool is_copy = false;
  CUDA_MEMCPY3D copy{};         // as the program gave it
  std::vector<uint8_t> packed;  // rows on their way to memory that they do not fill

  GraphTask() = default;
  GraphTask(const GraphTask&) = delete;
  GraphTask& operator=(const GraphTask&) = delete;
  ~GraphTask();
};

// An object of the program that is destroyed when nobody refers to it any more.
struct UserObject : Object {
  void* pointer = nullptr;
  CUhostFn destroy = nullptr;
  uint64_t references = 0;
};

// References that graphs, executable graphs and running launches share.
struct ObjectReferences {
  Session* session = nullptr;
  UserObject* object = nullptr;
  uint64_t count = 0;
  ~ObjectReferences();
};

// Device memory that nodes allocate, known as such while a graph with the node is there.
struct GraphMemory {
  Session* session = nullptr;
  CUdeviceptr address = 0;
  uint64_t id = 0;
  ~GraphMemory();
};

// What launches of an executable graph use.
struct GraphKept {
  // The node says which task is replaced when its parameters change.
  std::vector<std::pair<uint32_t, std::shared_ptr<GraphTask>>> tasks;
  std::vector<std::shared_ptr<ObjectReferences>> objects;
  std::vector<std::shared_ptr<GraphMemory>> memory;
  bool must_be_told() const { return !tasks.empty() || !objects.empty(); }
};

// A node's parameters as the program gives and gets them, with what they point to.
struct NodeData {
  CUgraphNodeParams params{};
  std::vector<uint8_t> packed;
  std::vector<void*> pointers;
  std::vector<uint64_t> operations;  // of memory operations, six words each
  std::vector<CUmemAccessDesc> access;
  std::shared_ptr<GraphTask> task;
};

struct GraphNode : Object {
  struct Link {
    GraphNode* node;
    CUgraphEdgeData data;
  };
  Graph* graph = nullptr;
  uint32_t local_id = 0;
  NodeData data;
  std::vector<Link> before;  // this node depends on them
  std::vector<Link> after;
  Graph* child = nullptr;
  std::vector<CUgraph> bodies;
};

struct Graph : InContext {
  bool fetched = true;  // the nodes here are those that the driver has
  Graph* parent = nullptr;
  std::vector<Graph*> parts;
  std::vector<GraphNode*> nodes;
  uint32_t next_local_id = 0;
  GraphKept kept;  // of all its nodes; at the root for parts
};

struct GraphExec : InContext {
  std::shared_ptr<const GraphKept> kept;
  uint64_t flags = 0;
  std::set<uint32_t> disabled;
};

}  // namespace sluice::client
