// Telling the client what is in a graph that the driver made: by capture, or as a copy of another.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "common/scoped_fd.h"
#include "worker/calls/graph_node.h"

namespace sluice::worker::calls {
namespace {

class Description {
 public:
  explicit Description(Session& session) : session_(session), driver_(session.driver) {}

  // The nodes as the client sees them, in the driver's order.
  CUresult read(CUgraph graph);
  void write(wire::Writer& answer) const;
  std::vector<NodeRecord>& nodes() { return nodes_; }

 private:
  CUresult read_node(CUgraphNode handle);
  CUresult read_params(const NodeRecord& record, wire::GraphNode* node);
  CUresult read_kernel(CUgraphNode handle, wire::GraphNode* node);
  CUresult read_task(NodeRecord* record, GraphTask* task, wire::GraphNode* node);
  CUresult read_copy(CUgraphNode handle, wire::NodeCopy* copy);
  CUresult read_edges(CUgraph graph);
  uint32_t function_index(CUfunction function);

  struct Edge {
    uint32_t from;
    uint32_t to;
    CUgraphEdgeData data;
  };

  Session& session_;
  generated::DriverTable& driver_;
  std::vector<NodeRecord> nodes_;
  std::vector<wire::GraphNode> params_;
  std::map<CUgraphNode, uint32_t> positions_;
  std::vector<Edge> edges_;
  std::map<void*, uint32_t> functions_;
};

CUresult Description::read(CUgraph graph) {
  std::vector<CUgraphNode> handles;
  if (!list_nodes(driver_, graph, &handles)) return CUDA_ERROR_NOT_SUPPORTED;
  if (handles.size() > wire::kMaxGraphNodes) return CUDA_ERROR_OUT_OF_MEMORY;
  // Copies next to a task of ours are a part of the task's node, wherever they come in the list.
  std::set<CUgraphNode> parts;
  for (const CUgraphNode handle : handles) {
    CUgraphNodeType type{};
    if (CUresult error = driver_.cuGraphNodeGetType(handle, &type)) return error;
    const GraphTask* task = type == CU_GRAPH_NODE_TYPE_HOST ? session_.graphs.task_of(handle) : nullptr;
    if (task != nullptr && task->memory != nullptr) parts.insert(session_.graphs.copy_of(handle, *task));
  }
  for (const CUgraphNode handle : handles) {
    if (parts.contains(handle)) continue;
    if (CUresult error = read_node(handle)) return error;
  }
  return read_edges(graph);
}

CUresult Description::read_node(CUgraphNode handle) {
  NodeRecord record;
  record.first = record.last = handle;
  if (CUresult error = driver_.cuGraphNodeGetType(handle, &record.type)) return error;
  wire::GraphNode node;
  GraphTask* task = record.type == CU_GRAPH_NODE_TYPE_HOST ? session_.graphs.task_of(handle) : nullptr;
  if (task != nullptr) {
    if (CUresult error = read_task(&record, task, &node)) return error;
  } else if (record.type == CU_GRAPH_NODE_TYPE_HOST) {
    node.type = CU_GRAPH_NODE_TYPE_EMPTY;  // bookkeeping of the worker's own
    record.type = CU_GRAPH_NODE_TYPE_EMPTY;
  } else {
    node.type = record.type;
    if (CUresult error = read_params(record, &node)) return error;
  }
  const auto position = static_cast<uint32_t>(nodes_.size());
  for (const CUgraphNode part : {record.first, record.last, record.host, record.copy}) {
    if (part != nullptr) positions_[part] = position;
  }
  nodes_.push_back(std::move(record));
  params_.push_back(std::move(node));
  return CUDA_SUCCESS;
}

CUresult Description::read_task(NodeRecord* record, GraphTask* task, wire::GraphNode* node) {
  record->task = task;
  record->host = record->first;
  node->task = task->number;
  node->type = CU_GRAPH_NODE_TYPE_HOST;
  if (!task->is_copy) return CUDA_SUCCESS;
  record->type = CU_GRAPH_NODE_TYPE_MEMCPY;
  node->type = CU_GRAPH_NODE_TYPE_MEMCPY;
  if (task->memory == nullptr) return CUDA_SUCCESS;  // within the client
  record->copy = session_.graphs.copy_of(record->host, *task);
  if (record->copy == nullptr) return CUDA_ERROR_UNKNOWN;
  if (CUresult error = read_copy(record->copy, &node->copy)) return error;
  const bool fetches = task->kind == GraphTaskKind::fetch;
  (fetches ? node->copy.src : node->copy.dst).place = wire::CopyPlace::client;
  record->first = fetches ? record->host : record->copy;
  record->last = fetches ? record->copy : record->host;
  return CUDA_SUCCESS;
}

CUresult Description::read_copy(CUgraphNode handle, wire::NodeCopy* copy) {
  CUDA_MEMCPY3D c{};
  if (CUresult error = call(driver_.cuGraphMemcpyNodeGetParams, handle, &c)) return error;
  copy->src = {c.srcMemoryType == CU_MEMORYTYPE_ARRAY ? wire::CopyPlace::array : wire::CopyPlace::device,
               c.srcDevice,
               0,
               c.srcPitch,
               c.srcHeight,
               c.srcXInBytes,
               c.srcY,
               c.srcZ,
               c.srcLOD};
  copy->dst = {c.dstMemoryType == CU_MEMORYTYPE_ARRAY ? wire::CopyPlace::array : wire::CopyPlace::device,
               c.dstDevice,
               0,
               c.dstPitch,
               c.dstHeight,
               c.dstXInBytes,
               c.dstY,
               c.dstZ,
               c.dstLOD};
  if (copy->src.place == wire::CopyPlace::array) copy->src.array = session_.array_index(c.srcArray);
  if (copy->dst.place == wire::CopyPlace::array) copy->dst.array = session_.array_index(c.dstArray);
  copy->width = c.WidthInBytes;
  copy->height = std::max<uint64_t>(c.Height, 1);
  copy->depth = std::max<uint64_t>(c.Depth, 1);
  return CUDA_SUCCESS;
}

uint32_t Description::function_index(CUfunction function) {
  if (functions_.empty()) functions_ = session_.function_indices();
  const auto at = functions_.find(function);
  return at == functions_.end() ? 0 : at->second;
}

CUresult Description::read_kernel(CUgraphNode handle, wire::GraphNode* node) {
  CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
  if (driver_.cuGraphKernelNodeGetParams_v2 != nullptr) {
    if (CUresult error = driver_.cuGraphKernelNodeGetParams_v2(handle, &kernel)) return error;
  } else {
    auto* first = reinterpret_cast<CUDA_KERNEL_NODE_PARAMS_v1*>(&kernel);
    if (CUresult error = call(driver_.cuGraphKernelNodeGetParams, handle, first)) return error;
  }
  node->is_kernel = kernel.func == nullptr;
  const auto function = kernel.func ? kernel.func : reinterpret_cast<CUfunction>(kernel.kern);
  node->function = function_index(function);
  node->grid = {kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ};
  node->block = {kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ};
  node->shared_bytes = kernel.sharedMemBytes;
  if (kernel.extra != nullptr) {
    const void* buffer = nullptr;
    size_t bytes = 0;
    for (void** at = kernel.extra; *at != CU_LAUNCH_PARAM_END; at += 2) {
      if (at[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = at[1];
      if (at[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<size_t*>(at[1]);
    }
    if (buffer == nullptr || bytes > wire::kMaxNodeParameterBytes) return CUDA_ERROR_UNKNOWN;
    node->parameters.assign(static_cast<const uint8_t*>(buffer), static_cast<const uint8_t*>(buffer) + bytes);
    return CUDA_SUCCESS;
  }
  if (kernel.kernelParams == nullptr) return CUDA_SUCCESS;
  size_t offset = 0;
  size_t size = 0;
  for (size_t i = 0;; i++) {
    const CUresult result = kernel.func ? call(driver_.cuFuncGetParamInfo, kernel.func, i, &offset, &size)
                                        : call(driver_.cuKernelGetParamInfo, kernel.kern, i, &offset, &size);
    if (result == CUDA_ERROR_NOT_SUPPORTED) return result;
    if (result != CUDA_SUCCESS) return CUDA_SUCCESS;
    if (offset + size > wire::kMaxNodeParameterBytes) return CUDA_ERROR_UNKNOWN;
    node->parameters.resize(std::max(node->parameters.size(), offset + size));
    std::memcpy(node->parameters.data() + offset, kernel.kernelParams[i], size);
  }
}

CUresult Description::read_params(const NodeRecord& record, wire::GraphNode* node) {
  switch (record.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return read_kernel(record.first, node);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return read_copy(record.first, &node->copy);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      CUDA_MEMSET_NODE_PARAMS set{};
      if (CUresult error = call(driver_.cuGraphMemsetNodeGetParams, record.first, &set)) return error;
      node->address = set.dst;
      node->pitch = set.pitch;
      node->value = set.value;
      node->element_bytes = set.elementSize;
      node->width = set.width;
      node->height = set.height;
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: {
      const auto ask = record.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT ? driver_.cuGraphEventWaitNodeGetEvent
                                                                    : driver_.cuGraphEventRecordNodeGetEvent;
      CUevent event = nullptr;
      if (CUresult error = call(ask, record.first, &event)) return error;
      node->event = session_.event_index(event);
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      CUDA_MEM_ALLOC_NODE_PARAMS alloc{};
      if (CUresult error = call(driver_.cuGraphMemAllocNodeGetParams, record.first, &alloc)) return error;
      for (size_t i = 0; i < session_.context.devices.size(); i++) {
        if (session_.context.devices[i].device == alloc.poolProps.location.id) {
          node->device = static_cast<int32_t>(i);
        }
      }
      node->bytes = alloc.bytesize;
      node->address = alloc.dptr;
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE: {
      CUdeviceptr address = 0;
      if (CUresult error = call(driver_.cuGraphMemFreeNodeGetParams, record.first, &address)) return error;
      node->address = address;
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      if (const NodeRecord* known = session_.graphs.node(session_.graphs.index_of(record.first))) {
        node->conditional = known->conditional;
        node->condition = known->condition;
        node->bodies = known->bodies;
      }
      return CUDA_SUCCESS;
    default:
      return CUDA_SUCCESS;
  }
}

CUresult Description::read_edges(CUgraph graph) {
  std::vector<CUgraphNode> from;
  std::vector<CUgraphNode> to;
  std::vector<CUgraphEdgeData> data;
  size_t count = 0;
  const bool with_data = driver_.cuGraphGetEdges_v2 != nullptr;
  const auto ask = [&] {
    return with_data ? driver_.cuGraphGetEdges_v2(graph, from.data(), to.data(), data.data(), &count)
                     : call(driver_.cuGraphGetEdges, graph, from.data(), to.data(), &count);
  };
  if (CUresult error = with_data ? driver_.cuGraphGetEdges_v2(graph, nullptr, nullptr, nullptr, &count)
                                 : call(driver_.cuGraphGetEdges, graph, static_cast<CUgraphNode*>(nullptr),
                                        static_cast<CUgraphNode*>(nullptr), &count)) {
    return error;
  }
  from.resize(count);
  to.resize(count);
  data.resize(count);
  if (count > 0) {
    if (CUresult error = ask()) return error;
  }
  for (size_t i = 0; i < count; i++) {
    const auto first = positions_.find(from[i]);
    const auto second = positions_.find(to[i]);
    if (first == positions_.end() || second == positions_.end()) return CUDA_ERROR_UNKNOWN;
    if (first->second != second->second) edges_.push_back({first->second, second->second, data[i]});
  }
  return CUDA_SUCCESS;
}

void Description::write(wire::Writer& answer) const {
  answer.put(static_cast<uint32_t>(nodes_.size()));
  for (size_t i = 0; i < nodes_.size(); i++) {
    answer.put(session_.graphs.index_of(nodes_[i].first));
    wire::put_node(answer, params_[i]);
  }
  answer.put(static_cast<uint32_t>(edges_.size()));
  for (const Edge& edge : edges_) {
    answer.put(edge.from);
    answer.put(edge.to);
    answer.bytes(&edge.data, sizeof edge.data);
  }
}

}  // namespace

// Nodes with the index that they have, or zero, then edges by position. Handles follow with graph_bind.
void cuGraphGetNodes(Session& session, Request& request) {
  GraphRecord* graph = session.graphs.graph(request.args.get<uint32_t>());
  if (!request.args.finished() || !request.sync()) return session.bad_frame(request);
  if (graph == nullptr) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  Description description(session);
  const CUresult result = description.read(graph->graph);
  wire::Writer answer;
  if (result == CUDA_SUCCESS) {
    description.write(answer);
    graph->described = std::move(description.nodes());
  }
  session.finish(request, result, answer);
}

void graph_bind(Session& session, Request& request) {
  const auto graph_index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  GraphRecord* graph = session.graphs.graph(graph_index);
  if (graph == nullptr || request.bulk_bytes != graph->described.size() * sizeof(uint32_t)) {
    return session.bad_frame(request);
  }
  std::vector<uint32_t> indices(graph->described.size());
  if (!session.read_bulk(request, indices.data(), request.bulk_bytes)) return;
  const std::vector<NodeRecord> described = std::move(graph->described);
  graph->described.clear();
  for (size_t i = 0; i < indices.size(); i++) {
    const uint32_t known = session.graphs.index_of(described[i].first);
    if (known == indices[i]) continue;
    if (known != 0 || !session.graphs.add_node(indices[i], graph_index, described[i])) {
      return session.bad_frame(request);
    }
  }
  session.finish(request, CUDA_SUCCESS);
}

// The driver writes files; this one is read back and written by the client.
void cuGraphDebugDotPrint(Session& session, Request& request) {
  const GraphRecord* graph = session.graphs.graph(request.args.get<uint32_t>());
  const auto flags = request.args.get<uint32_t>();
  if (!request.args.finished() || !request.sync()) return session.bad_frame(request);
  if (graph == nullptr) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  const ScopedFd file(::memfd_create("graph", MFD_CLOEXEC));
  if (!file.valid()) return session.finish(request, CUDA_ERROR_OPERATING_SYSTEM);
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  const CUresult result = call(session.driver.cuGraphDebugDotPrint, graph->graph, path.c_str(), flags);
  wire::Writer answer;
  char piece[16u << 10];
  ssize_t got = 0;
  for (off_t at = 0; result == CUDA_SUCCESS && answer.size() < wire::kMaxReplyTable - sizeof piece &&
                     (got = ::pread(file.get(), piece, sizeof piece, at)) > 0;
       at += got) {
    answer.bytes(piece, static_cast<size_t>(got));
  }
  session.finish(request, result, answer);
}

}  // namespace sluice::worker::calls
