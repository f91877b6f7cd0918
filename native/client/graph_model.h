// Keeping the client's picture of graphs, and putting nodes into frames and back.
#pragma once

#include "client/graph.h"
#include "client/scope.h"

namespace sluice::client {

// Where tasks, objects and memory of a graph are kept: the graph that it is a part of, if it is one.
Graph& root_of(Graph& graph);

// A new graph in the scope's context, or a part of `parent`; null when there are too many.
Graph* mint_graph(Scope& scope, Graph* parent = nullptr);
// A new node of the graph; null when there are too many.
GraphNode* mint_node(Scope& scope, Graph& graph, NodeData data);
// The handles of the graph, its nodes and its parts are dead from here on.
void release_graph(Session& session, Graph& graph);
void release_node(Session& session, GraphNode& node);

void add_link(GraphNode& from, GraphNode& to, const CUgraphEdgeData& data);
// False when there is no such edge.
bool remove_link(GraphNode& from, GraphNode& to);

// Fetches what the driver has made by itself, unless that is known: one round trip.
CUresult fetch(Scope& scope, Graph& graph);

// Checks the parameters in `data`, keeps what they point to there, makes the task that they need, and puts
// them in the form in which they travel.
CUresult to_wire(Scope& scope, NodeData* data, wire::GraphNode* node);
// The other way round, for a node that was fetched.
NodeData from_wire(Session& session, const wire::GraphNode& node);

// Keeps the task of the node, and no longer the one that it had.
void keep_task(GraphKept& kept, uint32_t node, const std::shared_ptr<GraphTask>& task);

}  // namespace sluice::client
