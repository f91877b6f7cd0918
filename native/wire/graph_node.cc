#include "wire/graph_node.h"

#include "wire/frame.h"

namespace sluice::wire {
namespace {

// The same list of members serves writing and reading, so that the two cannot differ.
struct Put {
  Writer& writer;
  template <typename T>
  void operator()(const T& value) {
    writer.put(value);
  }
  void operator()(const CopyPlace& place) { writer.put(static_cast<uint8_t>(place)); }
};

struct Get {
  Reader& reader;
  template <typename T>
  void operator()(T& value) {
    value = reader.get<T>();
  }
  void operator()(CopyPlace& place) {
    const auto number = reader.get<uint8_t>();
    if (number > static_cast<uint8_t>(CopyPlace::array)) reader.fail();
    place = static_cast<CopyPlace>(number);
  }
};

template <typename Each, typename Side>
void each_of_side(Each&& each, Side& side) {
  each(side.place);
  each(side.address);
  each(side.array);
  each(side.pitch);
  each(side.height);
  each(side.x);
  each(side.y);
  each(side.z);
  each(side.lod);
}

// Everything of the node's type but its lists.
template <typename Each, typename Node>
void each_of_node(Each&& each, Node& node) {
  switch (node.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      each(node.context);
      each(node.function);
      each(node.is_kernel);
      for (auto& dimension : node.grid) each(dimension);
      for (auto& dimension : node.block) each(dimension);
      each(node.shared_bytes);
      break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      each(node.context);
      each(node.task);
      each_of_side(each, node.copy.src);
      each_of_side(each, node.copy.dst);
      each(node.copy.width);
      each(node.copy.height);
      each(node.copy.depth);
      break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
      each(node.context);
      each(node.address);
      each(node.pitch);
      each(node.value);
      each(node.element_bytes);
      each(node.width);
      each(node.height);
      break;
    case CU_GRAPH_NODE_TYPE_HOST:
      each(node.task);
      break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
      each(node.graph);
      each(node.moved);
      break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      each(node.event);
      break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      each(node.device);
      each(node.bytes);
      each(node.address);
      break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      each(node.address);
      break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      each(node.context);
      each(node.flags);
      break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      each(node.context);
      each(node.conditional);
      each(node.condition);
      break;
    default:
      break;
  }
}

bool is_known(uint32_t type) {
  return type <= CU_GRAPH_NODE_TYPE_EVENT_RECORD ||
         (type >= CU_GRAPH_NODE_TYPE_MEM_ALLOC && type <= CU_GRAPH_NODE_TYPE_CONDITIONAL);
}

}  // namespace

uint64_t NodeCopy::bytes() const {
  if (width == 0 || height == 0 || depth == 0) return 0;
  if (width > kMaxBulk || height > kMaxBulk / width || depth > kMaxBulk / (width * height)) return 0;
  return width * height * depth;
}

void put_node(Writer& writer, const GraphNode& node) {
  writer.put(node.type);
  each_of_node(Put{writer}, node);
  if (node.type == CU_GRAPH_NODE_TYPE_KERNEL) {
    writer.put(static_cast<uint32_t>(node.parameters.size()));
    writer.bytes(node.parameters.data(), node.parameters.size());
  } else if (node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    writer.put(static_cast<uint32_t>(node.access.size()));
    for (const NodeAccess& access : node.access) {
      writer.put(access.device);
      writer.put(access.flags);
    }
  } else if (node.type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP) {
    writer.put(static_cast<uint32_t>(node.operations.size()));
    for (const MemOp& operation : node.operations) {
      writer.put(operation.operation);
      writer.put(operation.address);
      writer.put(operation.value);
      writer.put(operation.flags);
    }
  } else if (node.type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    writer.put(static_cast<uint32_t>(node.bodies.size()));
    for (const uint32_t body : node.bodies) writer.put(body);
  }
}

GraphNode get_node(Reader& reader) {
  GraphNode node;
  node.type = reader.get<uint32_t>();
  if (!is_known(node.type)) reader.fail();
  if (reader.failed()) return node;
  each_of_node(Get{reader}, node);
  if (node.type == CU_GRAPH_NODE_TYPE_KERNEL) {
    const uint32_t size = reader.count(kMaxNodeParameterBytes, 1);
    if (const uint8_t* bytes = reader.bytes(size)) node.parameters.assign(bytes, bytes + size);
  } else if (node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    node.access.resize(reader.count(kMaxAccess, sizeof(int32_t) + sizeof(uint32_t)));
    for (NodeAccess& access : node.access) {
      access.device = reader.get<int32_t>();
      access.flags = reader.get<uint32_t>();
    }
  } else if (node.type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP) {
    node.operations.resize(reader.count(kMaxMemOps, 24));
    for (MemOp& operation : node.operations) {
      operation.operation = reader.get<uint32_t>();
      operation.address = reader.get<uint64_t>();
      operation.value = reader.get<uint64_t>();
      operation.flags = reader.get<uint32_t>();
    }
  } else if (node.type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    node.bodies.resize(reader.count(kMaxBodies, sizeof(uint32_t)));
    for (uint32_t& body : node.bodies) body = reader.get<uint32_t>();
  }
  return node;
}

}  // namespace sluice::wire
