// The parameters of a node of a graph as they travel. Handles are the client's indices; what lies in the
// client (memory, functions) is a task of the client, by its number.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/cuda_types.h"
#include "wire/codec.h"

namespace sluice::wire {

// Caps, kept by the side that reads.
constexpr uint32_t kMaxNodeParameterBytes = 64u << 10;  // a kernel's; drivers allow half of it
constexpr uint32_t kMaxMemOps = 256;                    // of one node
constexpr uint32_t kMaxAccess = 64;                     // devices that may use an allocation
constexpr uint32_t kMaxBodies = 256;                    // of a conditional node
constexpr uint32_t kMaxEdges = 8192;                    // of one frame
constexpr uint32_t kMaxGraphNodes = 1u << 22;           // of one graph, when it is described

enum class CopyPlace : uint8_t { client = 0, device = 1, array = 2 };

// One side of a copy. In the client's memory only the task says where the bytes are.
struct CopySide {
  CopyPlace place = CopyPlace::client;
  uint64_t address = 0;
  uint32_t array = 0;
  uint64_t pitch = 0;
  uint64_t height = 0;
  uint64_t x = 0, y = 0, z = 0, lod = 0;
};

struct NodeCopy {
  CopySide src;
  CopySide dst;
  uint64_t width = 0, height = 0, depth = 0;
  bool touches_client() const { return src.place == CopyPlace::client || dst.place == CopyPlace::client; }
  // Bytes that travel when one side is the client's; zero for a size that nobody has.
  uint64_t bytes() const;
};

struct MemOp {
  uint32_t operation = 0;
  uint64_t address = 0;
  uint64_t value = 0;
  uint32_t flags = 0;
};

struct NodeAccess {
  int32_t device = 0;
  uint32_t flags = 0;
};

// Only the members of the type are written and read; the others keep their defaults.
struct GraphNode {
  uint32_t type = CU_GRAPH_NODE_TYPE_EMPTY;
  uint32_t context = 0;  // of kernels, copies, sets and memory operations; 0: the current one
  uint32_t task = 0;     // of host functions, and of copies that touch the client

  uint32_t function = 0;
  uint8_t is_kernel = 0;  // of a library, not of a module
  std::array<uint32_t, 3> grid{};
  std::array<uint32_t, 3> block{};
  uint32_t shared_bytes = 0;
  std::vector<uint8_t> parameters;  // packed by the kernel's layout

  NodeCopy copy;

  uint64_t address = 0;  // of a set, an allocation or a free
  uint64_t pitch = 0;
  uint32_t value = 0;
  uint32_t element_bytes = 0;
  uint64_t width = 0;  // in elements
  uint64_t height = 0;

  uint32_t graph = 0;  // the child
  uint32_t moved = 0;  // it belongs to the node from here on
  uint32_t event = 0;

  int32_t device = 0;  // of an allocation
  uint64_t bytes = 0;
  std::vector<NodeAccess> access;

  uint32_t flags = 0;  // of memory operations
  std::vector<MemOp> operations;

  uint64_t conditional = 0;
  uint32_t condition = 0;        // CUgraphConditionalNodeType
  std::vector<uint32_t> bodies;  // graphs
};

void put_node(Writer& writer, const GraphNode& node);
// A node of an unknown kind, or one with too much of something, sets the reader's failure.
GraphNode get_node(Reader& reader);

}  // namespace sluice::wire
