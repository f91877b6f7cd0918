// An instantiated graph: a copy of the graph that can be launched again and again.
#pragma once

#include <memory>
#include <vector>

#include "common/cuda_types.h"
#include "softgpu/graph/graph.h"
#include "softgpu/stream.h"

namespace sluice::softgpu {

class Context;

class GraphExec {
 public:
  static constexpr HandleKind kKind = HandleKind::kGraphExec;

  // Checks the graph and copies it. On failure *error_node says where, if at one node.
  static CUresult create(const Graph& graph, Context& context, unsigned long long flags, Node** error_node,
                         CUgraphInstantiateResult* why, std::unique_ptr<GraphExec>* out);
  ~GraphExec();

  CUgraphExec handle() const { return static_cast<CUgraphExec>(handle_); }
  // Queues all of it in the order of the stream. Launches of one instantiated graph follow each other.
  CUresult launch(Stream& stream);
  // The copy of the graph's node; null when there is none.
  Node* node(const Node& original) const;
  // Takes over the work of the graph's nodes when its shape is the same.
  CUresult update(const Graph& graph, CUgraphExecUpdateResultInfo* info);
  // Replaces one node's work. INVALID_VALUE for another kind of work.
  CUresult set_work(Node& own, Work work);

  const std::shared_ptr<Graph> plan;
  const unsigned long long flags;

 private:
  // One of the streams that nodes run in: those of one context, as many as branches ask for.
  struct Lane {
    std::shared_ptr<Stream> stream;
    CUstream handle;
    const Node* last = nullptr;  // what was queued last in this launch
  };
  // Where a node ends: everything that comes after it waits for these.
  using Ends = std::vector<Dependency>;
  struct Launching;

  GraphExec(std::shared_ptr<Graph> copy, Context& context, unsigned long long flags);
  CUresult queue_graph(Launching& launching, const Graph& graph, const Ends& begin, Ends* ends);
  CUresult queue_node(Launching& launching, Node& node, const Ends& begin, Ends* ends);
  CUresult take_lane(Context& context, const Node& node, Lane** out);

  void* handle_;
  const std::shared_ptr<Context> context_;  // of nodes that say none
  std::vector<std::unique_ptr<Lane>> lanes_;
  Ends previous_;  // where the launch before ended
};

}  // namespace sluice::softgpu
