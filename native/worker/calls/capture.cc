// Stream capture. The driver captures in its relaxed mode: which thread of the program may do what meanwhile
// is decided in the client, because the threads here are not the program's.
#include <cstring>

#include "worker/calls/graph_node.h"

namespace sluice::worker {
namespace {

bool capture_id(Session& session, CUstream stream, unsigned long long* id) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return session.driver.cuStreamGetCaptureInfo != nullptr &&
         session.driver.cuStreamGetCaptureInfo(stream, &status, id) == CUDA_SUCCESS &&
         status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

}  // namespace

GraphRecord* Session::capturing_graph(CUstream stream) {
  unsigned long long id = 0;
  if (graphs.captures.empty() || stream == nullptr || !capture_id(*this, stream, &id)) return nullptr;
  const auto at = graphs.captures.find(id);
  return at == graphs.captures.end() ? nullptr : graphs.graph(at->second.graph);
}

namespace calls {
namespace {

struct Dependencies {
  std::vector<CUgraphNode> nodes;
  std::vector<CUgraphEdgeData> data;
  bool known = true;
  bool plain = true;
};

Dependencies read_dependencies(Session& session, wire::Reader& args) {
  Dependencies read;
  const uint32_t count = args.count(wire::kMaxEdges, sizeof(uint32_t) + sizeof(CUgraphEdgeData));
  for (uint32_t i = 0; i < count; i++) {
    const NodeRecord* node = session.graphs.node(args.get<uint32_t>());
    CUgraphEdgeData data{};
    if (const uint8_t* bytes = args.bytes(sizeof data)) std::memcpy(&data, bytes, sizeof data);
    read.known = read.known && node != nullptr;
    if (node == nullptr) continue;
    read.nodes.push_back(node->last);
    read.data.push_back(data);
    read.plain = read.plain && data.type == 0 && data.from_port == 0;
  }
  return read;
}

// The graph in the making gets the client's handle at once, where the driver tells which one it is.
CUgraph graph_in_the_making(Session& session, CUstream stream) {
  CUstreamCaptureStatus status{};
  unsigned long long id = 0;
  CUgraph graph = nullptr;
  auto& driver = session.driver;
  if (driver.cuStreamGetCaptureInfo_v2 != nullptr) {
    driver.cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, nullptr, nullptr);
  } else if (driver.cuStreamGetCaptureInfo_v3 != nullptr) {
    driver.cuStreamGetCaptureInfo_v3(stream, &status, &id, &graph, nullptr, nullptr, nullptr);
  }
  return graph;
}

void finish_begin(Session& session, Request& request, CUresult result, CUstream stream, uint32_t graph_index,
                  bool is_new) {
  unsigned long long id = 0;
  if (result == CUDA_SUCCESS && capture_id(session, stream, &id)) {
    CUgraph graph = is_new ? graph_in_the_making(session, stream) : nullptr;
    if (is_new && !session.graphs.add_graph(graph_index, graph)) return session.bad_frame(request);
    session.graphs.captures[id] = {graph_index, is_new};
  }
  session.finish(request, result);
}

// A copy in the stream, with the task's memory in place of the client's.
CUresult copy_in_stream(Session& session, const CUDA_MEMCPY3D& c, bool fetches, CUstream stream) {
  auto& driver = session.driver;
  if (c.Depth > 1 || c.srcMemoryType == CU_MEMORYTYPE_ARRAY || c.dstMemoryType == CU_MEMORYTYPE_ARRAY) {
    return call(driver.cuMemcpy3DAsync_v2, &c, stream);
  }
  if (c.Height == 1) {
    return fetches ? driver.cuMemcpyHtoDAsync_v2(c.dstDevice + c.dstXInBytes + c.dstY * c.dstPitch, c.srcHost,
                                                 c.WidthInBytes, stream)
                   : driver.cuMemcpyDtoHAsync_v2(c.dstHost, c.srcDevice + c.srcXInBytes + c.srcY * c.srcPitch,
                                                 c.WidthInBytes, stream);
  }
  CUDA_MEMCPY2D flat{};
  flat.srcXInBytes = c.srcXInBytes;
  flat.srcY = c.srcY;
  flat.srcMemoryType = c.srcMemoryType;
  flat.srcHost = c.srcHost;
  flat.srcDevice = c.srcDevice;
  flat.srcPitch = c.srcPitch;
  flat.dstXInBytes = c.dstXInBytes;
  flat.dstY = c.dstY;
  flat.dstMemoryType = c.dstMemoryType;
  flat.dstHost = c.dstHost;
  flat.dstDevice = c.dstDevice;
  flat.dstPitch = c.dstPitch;
  flat.WidthInBytes = c.WidthInBytes;
  flat.Height = c.Height;
  return driver.cuMemcpy2DAsync_v2(&flat, stream);
}

}  // namespace

void cuStreamBeginCapture_v2(Session& session, Request& request) {
  const auto stream_index = request.args.get<uint32_t>();
  const auto graph_index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUstream stream = nullptr;
  if (!session.find(stream_index, &stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  const CUresult result =
      call(session.driver.cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  finish_begin(session, request, result, stream, graph_index, true);
}

void cuStreamBeginCaptureToGraph(Session& session, Request& request) {
  const auto stream_index = request.args.get<uint32_t>();
  const auto graph_index = request.args.get<uint32_t>();
  const Dependencies after = read_dependencies(session, request.args);
  if (!request.args.finished()) return session.bad_frame(request);
  CUstream stream = nullptr;
  const GraphRecord* graph = session.graphs.graph(graph_index);
  if (!session.find(stream_index, &stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (graph == nullptr || !after.known) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  const CUresult result =
      call(session.driver.cuStreamBeginCaptureToGraph, stream, graph->graph, after.nodes.data(),
           after.plain ? nullptr : after.data.data(), after.nodes.size(), CU_STREAM_CAPTURE_MODE_RELAXED);
  finish_begin(session, request, result, stream, graph_index, false);
}

void cuStreamEndCapture(Session& session, Request& request) {
  const auto stream_index = request.args.get<uint32_t>();
  const auto graph_index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUstream stream = nullptr;
  if (!session.find(stream_index, &stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  CUgraph graph = nullptr;
  CUresult result = call(session.driver.cuStreamEndCapture, stream, &graph);
  bool is_new = false;
  std::erase_if(session.graphs.captures, [&](const auto& entry) {
    if (entry.second.graph != graph_index) return false;
    is_new = entry.second.is_new;
    return true;
  });
  GraphRecord* record = session.graphs.graph(graph_index);
  if (result == CUDA_SUCCESS && record != nullptr && graph != nullptr) {
    record->graph = graph;
  } else if (is_new) {
    session.graphs.remove_graph(graph_index);  // the driver has destroyed what there was
  }
  if (result == CUDA_SUCCESS && graph == nullptr) result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  session.finish(request, result);
}

void cuStreamUpdateCaptureDependencies_v2(Session& session, Request& request) {
  const auto stream_index = request.args.get<uint32_t>();
  const auto flags = request.args.get<uint32_t>();
  Dependencies after = read_dependencies(session, request.args);
  if (!request.args.finished()) return session.bad_frame(request);
  CUstream stream = nullptr;
  if (!session.find(stream_index, &stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (!after.known) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  if (after.plain) {
    return session.finish(request, call(session.driver.cuStreamUpdateCaptureDependencies, stream,
                                        after.nodes.data(), after.nodes.size(), flags));
  }
  session.finish(request, call(session.driver.cuStreamUpdateCaptureDependencies_v2, stream,
                               after.nodes.data(), after.data.data(), after.nodes.size(), flags));
}

// What the next node of the stream will come after.
void cuStreamGetCaptureInfo_v3(Session& session, Request& request) {
  const auto stream_index = request.args.get<uint32_t>();
  if (!request.args.finished() || !request.sync()) return session.bad_frame(request);
  CUstream stream = nullptr;
  if (!session.find(stream_index, &stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  CUstreamCaptureStatus status{};
  unsigned long long id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* data = nullptr;
  size_t count = 0;
  auto& driver = session.driver;
  const CUresult result =
      driver.cuStreamGetCaptureInfo_v3 != nullptr
          ? driver.cuStreamGetCaptureInfo_v3(stream, &status, &id, &graph, &nodes, &data, &count)
          : call(driver.cuStreamGetCaptureInfo_v2, stream, &status, &id, &graph, &nodes, &count);
  wire::Writer answer;
  if (result == CUDA_SUCCESS) {
    answer.put(static_cast<uint32_t>(status));
    answer.put(static_cast<uint32_t>(count));
    for (size_t i = 0; i < count; i++) {
      const CUgraphEdgeData edge = data ? data[i] : CUgraphEdgeData{};
      answer.put(session.graphs.index_of(nodes[i]));
      answer.bytes(&edge, sizeof edge);
    }
  }
  session.finish(request, result, answer);
}

// A host function, or a copy that touches the client, in a stream that is captured.
void capture_node(Session& session, Request& request) {
  const auto stream_index = request.args.get<uint32_t>();
  wire::GraphNode node = wire::get_node(request.args);
  if (!request.args.finished()) return session.bad_frame(request);
  CUstream stream = nullptr;
  if (!session.find(stream_index, &stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  GraphRecord* graph = session.capturing_graph(stream);
  if (graph == nullptr) return session.finish(request, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  std::shared_ptr<GraphTask> task;
  if (CUresult error = task_for(session, node, &task)) return session.finish(request, error);
  if (task == nullptr) return session.bad_frame(request);
  session.graphs.root_of(*graph).tasks.push_back(task);
  CUDA_MEMCPY3D copy{};
  if (task->memory != nullptr) {
    if (CUresult error = driver_copy(session, node.copy, task->memory, &copy))
      return session.finish(request, error);
  }
  CUresult result = CUDA_SUCCESS;
  if (task->kind == GraphTaskKind::deliver) result = copy_in_stream(session, copy, false, stream);
  if (result == CUDA_SUCCESS) {
    result = call(session.driver.cuLaunchHostFunc, stream, run_graph_task, static_cast<void*>(task.get()));
  }
  if (result == CUDA_SUCCESS && task->kind == GraphTaskKind::fetch) {
    result = copy_in_stream(session, copy, true, stream);
  }
  session.finish(request, result);
}

// Asking after a captured stream is what no capture survives.
void invalidate_capture(Session& session, Request& request) {
  const auto stream_index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUstream stream = nullptr;
  if (session.find(stream_index, &stream) && session.capturing_graph(stream) != nullptr) {
    session.driver.cuStreamQuery(stream);
  }
  session.finish(request, CUDA_SUCCESS);
}

}  // namespace calls
}  // namespace sluice::worker
