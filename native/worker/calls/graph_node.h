// From a node as it travels to the driver's nodes.
#pragma once

#include <memory>
#include <vector>

#include "worker/calls/graph_store.h"
#include "worker/calls/session.h"

namespace sluice::worker {

// What a node depends on.
struct NodeEdges {
  std::vector<CUgraphNode> nodes;
  std::vector<CUgraphEdgeData> data;
};

// A node's parameters in the driver's form, and what they point to.
struct NodeParameters {
  CUgraphNodeParams params{};
  size_t packed_bytes = 0;
  void* extra[5] = {};
  std::vector<CUmemAccessDesc> access;
  std::vector<uint64_t> operations;  // each six words
};

// A function that older drivers lack.
template <typename Function, typename... Arguments>
CUresult call(Function function, Arguments... arguments) {
  return function ? function(arguments...) : CUDA_ERROR_NOT_SUPPORTED;
}

// The node's parameters but for the task's own memory: `task` is null for nodes without one.
CUresult fill_parameters(Session& session, wire::GraphNode& node, GraphTask* task, NodeParameters* out);
// The task that a node of the client needs; null for a node that needs none.
CUresult task_for(Session& session, const wire::GraphNode& node, std::shared_ptr<GraphTask>* task);

// Adds the node; `node` then has the address of an allocation. Its task is not kept yet.
CUresult make_node(Session& session, CUgraph graph, const NodeEdges& edges, wire::GraphNode& node,
                   NodeRecord* record, std::shared_ptr<GraphTask>* task, std::vector<CUgraph>* bodies);

// Other parameters for a node of a graph.
CUresult set_node(Session& session, NodeRecord& record, wire::GraphNode& node);
// The same in an executable graph: for the launches that come after it.
CUresult set_exec_node(Session& session, ExecRecord& exec, NodeRecord& record, wire::GraphNode& node);

// Copies that touch the client: the kind of their task.
GraphTaskKind task_kind_of(const wire::NodeCopy& copy);
// The copy as the driver takes it, with the task's memory in place of the client's.
CUresult driver_copy(Session& session, const wire::NodeCopy& copy, uint8_t* memory, CUDA_MEMCPY3D* out);

}  // namespace sluice::worker
