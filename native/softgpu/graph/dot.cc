#include "softgpu/graph/dot.h"

#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string>

#include "softgpu/module.h"

namespace sluice::softgpu {
namespace {

constexpr unsigned kVerbose = 1u << 0;
constexpr unsigned kHandles = 1u << 10;

std::string number(const char* format, uint64_t value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string describe(const Node& node, bool verbose) {
  if (const auto* kernel = std::get_if<KernelWork>(&node.work)) {
    const auto* function = lookup<Function>(kernel->what.func);
    std::string text = "kernel";
    if (function != nullptr) text += "\\n" + function->info.name;
    if (verbose) {
      text += number("\\ngrid %" PRIu64, kernel->what.gridDimX) + number(" %" PRIu64, kernel->what.gridDimY) +
              number(" %" PRIu64, kernel->what.gridDimZ) +
              number(", block %" PRIu64, kernel->what.blockDimX) +
              number(" %" PRIu64, kernel->what.blockDimY) + number(" %" PRIu64, kernel->what.blockDimZ);
    }
    return text;
  }
  if (const auto* copy = std::get_if<CopyWork>(&node.work)) {
    const uint64_t bytes = copy->what.WidthInBytes * copy->what.Height * copy->what.Depth;
    return "memcpy" + (verbose ? number("\\n%" PRIu64 " bytes", bytes) : "");
  }
  if (const auto* fill = std::get_if<FillWork>(&node.work)) {
    return "memset" + (verbose ? number("\\nvalue %" PRIu64, fill->what.value) : "");
  }
  switch (node.type()) {
    case CU_GRAPH_NODE_TYPE_HOST:
      return "host";
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return "graph";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return "event wait";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return "event record";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return "mem alloc";
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return "mem free";
    default:
      return "empty";
  }
}

void write(const Graph& graph, unsigned flags, FILE* file) {
  std::fprintf(file, "subgraph cluster_%u {\nlabel=\"graph_%u\" graph[style=\"dashed\"];\n", graph.id,
               graph.id);
  for (const auto& node : graph.nodes) {
    const std::string handle = (flags & kHandles) != 0
                                   ? number("\\n0x%" PRIx64, reinterpret_cast<uint64_t>(node->handle()))
                                   : std::string();
    std::fprintf(file, "\"graph_%u_node_%u\"[shape=\"box\" label=\"%u\\n%s%s\"];\n", graph.id, node->local_id,
                 node->local_id, describe(*node, (flags & kVerbose) != 0).c_str(), handle.c_str());
    if (const auto* child = std::get_if<ChildWork>(&node->work)) write(*child->graph, flags, file);
  }
  for (const auto& node : graph.nodes) {
    for (const Edge& edge : node->in) {
      std::fprintf(file, "\"graph_%u_node_%u\" -> \"graph_%u_node_%u\";\n", graph.id, edge.from->local_id,
                   graph.id, node->local_id);
    }
  }
  std::fputs("}\n", file);
}

}  // namespace

bool write_dot(const Graph& graph, const char* path, unsigned flags) {
  FILE* file = std::fopen(path, "w");
  if (file == nullptr) return false;
  std::fputs("digraph dot {\n", file);
  write(graph, flags, file);
  std::fputs("}\n", file);
  const bool good = std::ferror(file) == 0;
  return std::fclose(file) == 0 && good;
}

}  // namespace sluice::softgpu
