// A graph as text for Graphviz.
#pragma once

#include "softgpu/graph/graph.h"

namespace sluice::softgpu {

// Writes the graph to the file; `flags` as cuGraphDebugDotPrint has them. False when it cannot be written.
bool write_dot(const Graph& graph, const char* path, unsigned flags);

}  // namespace sluice::softgpu
