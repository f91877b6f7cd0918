// Stream capture. Which streams are captured, and by whom, is known here: no call asks the worker unless
// something is being captured, and then only what only the driver can know.
#include <utility>

#include "client/captures.h"
#include "client/graph_scope.h"
#include "client/task_order.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

bool is_mode(CUstreamCaptureMode mode) {
  return mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && mode <= CU_STREAM_CAPTURE_MODE_RELAXED;
}

void put_nodes(wire::Writer& arguments, const std::vector<GraphNode*>& nodes, const CUgraphEdgeData* data) {
  arguments.put(static_cast<uint32_t>(nodes.size()));
  for (size_t i = 0; i < nodes.size(); i++) {
    const CUgraphEdgeData edge = data ? data[i] : CUgraphEdgeData{};
    arguments.put(nodes[i]->index);
    arguments.bytes(&edge, sizeof edge);
  }
}

CUresult find_nodes(Scope& scope, const Graph& graph, const CUgraphNode* handles, size_t count,
                    std::vector<GraphNode*>* nodes) {
  if ((count > 0 && handles == nullptr) || count > wire::kMaxEdges) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; i++) {
    GraphNode* node = nullptr;
    if (CUresult error = scope.find(handles[i], &node)) return error;
    if (node->graph != &graph) return CUDA_ERROR_INVALID_VALUE;
    nodes->push_back(node);
  }
  return CUDA_SUCCESS;
}

// The stream of a new capture; the graph that it adds to is found by the caller.
CUresult find_origin(Scope& scope, CUstream handle, CUstreamCaptureMode mode, Stream** stream) {
  if (!is_mode(mode)) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = scope.look_up(handle, stream)) return error;
  if (CUresult error = scope.need_context()) return error;
  if (*stream == nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;  // the default stream has no order
  Capture running;
  return scope.session->captures.find((*stream)->capture.load(), &running) ? CUDA_ERROR_ILLEGAL_STATE
                                                                           : CUDA_SUCCESS;
}

void begin(Scope& scope, Stream& stream, Graph& graph, CUstreamCaptureMode mode, bool is_new) {
  const uint64_t id = scope.session->next_id.fetch_add(1);
  graph.fetched = false;
  stream.capture.store(id, std::memory_order_release);
  scope.session->captures.begin(id,
                                {&stream, &graph, mode, scope.thread, is_new, is_blocking(&stream), false});
}

// What a question about a stream finds; the default stream cannot be asked about while it is tied to a
// capture.
CUresult look(Scope& scope, CUstream handle, Stream** stream, Capture* capture, uint64_t* id) {
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.look_up(handle, stream)) return error;
  if (CUresult error = scope.need_context()) return error;
  *id = 0;
  if (!scope.session->captures.any()) return CUDA_SUCCESS;
  if (*stream == nullptr) {
    std::vector<std::pair<uint64_t, Stream*>> conflicting;
    return scope.session->captures.conflicts_with_default_stream(&conflicting)
               ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
               : CUDA_SUCCESS;
  }
  const uint64_t named = (*stream)->capture.load(std::memory_order_acquire);
  if (scope.session->captures.find(named, capture)) *id = named;
  return CUDA_SUCCESS;
}

CUstreamCaptureStatus status_of(uint64_t id, const Capture& capture) {
  if (id == 0) return CU_STREAM_CAPTURE_STATUS_NONE;
  return capture.invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

// Dependencies that were asked for stay where they are until the thread asks again.
struct Asked {
  std::vector<CUgraphNode> nodes;
  std::vector<CUgraphEdgeData> data;
};
Asked& asked() {
  static thread_local Asked last;
  return last;
}

CUresult ask_for_dependencies(Scope& scope, const Stream& stream, Graph& graph) {
  const std::lock_guard lock(scope.session->graph_mutex);
  graph.fetched = false;  // it grows with each call that is captured
  if (CUresult error = fetch(scope, graph)) return error;
  graph.fetched = false;
  wire::SyncFrame<4> frame(CallId::cuStreamGetCaptureInfo_v3);
  frame.put(stream.index);
  std::vector<uint8_t> table;
  Reply reply{nullptr, 0, &table};
  if (CUresult error = scope.call_raw(frame.data(), frame.size(), &reply)) return error;
  wire::Reader reader(table.data(), table.size());
  reader.get<uint32_t>();  // the status
  const uint32_t count = reader.count(wire::kMaxGraphNodes, sizeof(uint32_t) + sizeof(CUgraphEdgeData));
  asked() = {};
  for (uint32_t i = 0; i < count; i++) {
    const GraphNode* node = scope.session->graph_nodes.at_index(reader.get<uint32_t>());
    CUgraphEdgeData data{};
    if (const uint8_t* bytes = reader.bytes(sizeof data)) std::memcpy(&data, bytes, sizeof data);
    if (node == nullptr) return CUDA_ERROR_UNKNOWN;
    asked().nodes.push_back(static_cast<CUgraphNode>(node->handle));
    asked().data.push_back(data);
  }
  return reader.finished() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

}  // namespace

CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode) {
  GraphScope scope;
  Stream* stream = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = find_origin(scope, hStream, mode, &stream)) return error;
  scope.lock = std::unique_lock(scope.session->graph_mutex);
  Graph* graph = mint_graph(scope);
  if (graph == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  wire::AsyncFrame<8> frame(CallId::cuStreamBeginCapture_v2);
  frame.put(stream->index);
  frame.put(graph->index);
  if (CUresult error = scope.post(frame)) return error;
  begin(scope, *stream, *graph, mode, true);
  return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream hStream) {
  return cuStreamBeginCapture_v2(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph, const CUgraphNode* dependencies,
                                     const CUgraphEdgeData* dependencyData, size_t numDependencies,
                                     CUstreamCaptureMode mode) {
  GraphScope scope;
  Stream* stream = nullptr;
  Graph* graph = nullptr;
  std::vector<GraphNode*> nodes;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = find_origin(scope, hStream, mode, &stream)) return error;
  scope.lock = std::unique_lock(scope.session->graph_mutex);
  if (CUresult error = scope.find(hGraph, &graph)) return error;
  if (graph->context->channel != scope.channel) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = find_nodes(scope, *graph, dependencies, numDependencies, &nodes)) return error;
  wire::DynamicFrame frame(CallId::cuStreamBeginCaptureToGraph);
  frame.arguments().put(stream->index);
  frame.arguments().put(graph->index);
  put_nodes(frame.arguments(), nodes, dependencyData);
  frame.complete();
  if (CUresult error = scope.post(frame)) return error;
  begin(scope, *stream, *graph, mode, false);
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph* phGraph) {
  if (phGraph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *phGraph = nullptr;
  GraphScope scope;
  Stream* stream = nullptr;
  Capture capture;
  uint64_t id = 0;
  if (CUresult error = look(scope, hStream, &stream, &capture, &id)) return error;
  if (stream == nullptr || id == 0) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture.thread != scope.thread)
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  if (capture.origin != stream) {
    invalidate_captures(*scope.session, {{id, capture.origin}});
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  wire::SyncFrame<8> frame(CallId::cuStreamEndCapture);
  frame.put(stream->index);
  frame.put(capture.graph->index);
  const CUresult result = scope.call(frame);
  scope.session->captures.end(id);
  stream->capture.store(0, std::memory_order_release);
  scope.lock = std::unique_lock(scope.session->graph_mutex);
  if (result != CUDA_SUCCESS) {
    if (capture.is_new) release_graph(*scope.session, *capture.graph);
    return result;
  }
  *phGraph = static_cast<CUgraph>(capture.graph->handle);
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus* captureStatus) {
  if (captureStatus == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Stream* stream = nullptr;
  Capture capture;
  uint64_t id = 0;
  if (CUresult error = look(scope, hStream, &stream, &capture, &id)) return error;
  *captureStatus = status_of(id, capture);
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                   unsigned long long* id_out, CUgraph* graph_out,
                                   const CUgraphNode** dependencies_out, const CUgraphEdgeData** edgeData_out,
                                   size_t* numDependencies_out) {
  if (captureStatus_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Stream* stream = nullptr;
  Capture capture;
  uint64_t id = 0;
  if (CUresult error = look(scope, hStream, &stream, &capture, &id)) return error;
  *captureStatus_out = status_of(id, capture);
  const bool active = *captureStatus_out == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (id_out != nullptr) *id_out = active ? id : 0;
  if (graph_out != nullptr) *graph_out = active ? static_cast<CUgraph>(capture.graph->handle) : nullptr;
  const bool asks = dependencies_out != nullptr || edgeData_out != nullptr || numDependencies_out != nullptr;
  asked() = {};
  if (active && asks) {
    if (CUresult error = ask_for_dependencies(scope, *stream, *capture.graph)) return error;
  }
  if (dependencies_out != nullptr) *dependencies_out = asked().nodes.data();
  if (edgeData_out != nullptr) *edgeData_out = asked().data.data();
  if (numDependencies_out != nullptr) *numDependencies_out = asked().nodes.size();
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                   unsigned long long* id_out, CUgraph* graph_out,
                                   const CUgraphNode** dependencies_out, size_t* numDependencies_out) {
  return cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, graph_out, dependencies_out, nullptr,
                                   numDependencies_out);
}

CUresult cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                unsigned long long* id_out) {
  return cuStreamGetCaptureInfo_v2(hStream, captureStatus_out, id_out, nullptr, nullptr, nullptr);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode* dependencies,
                                              const CUgraphEdgeData* dependencyData, size_t numDependencies,
                                              unsigned int flags) {
  if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Stream* stream = nullptr;
  Capture capture;
  uint64_t id = 0;
  if (CUresult error = look(scope, hStream, &stream, &capture, &id)) return error;
  if (id == 0) return CUDA_ERROR_ILLEGAL_STATE;
  const std::lock_guard lock(scope.session->graph_mutex);
  std::vector<GraphNode*> nodes;
  if (CUresult error = find_nodes(scope, *capture.graph, dependencies, numDependencies, &nodes)) return error;
  wire::DynamicFrame frame(CallId::cuStreamUpdateCaptureDependencies_v2);
  frame.arguments().put(stream->index);
  frame.arguments().put(uint32_t{flags});
  put_nodes(frame.arguments(), nodes, dependencyData);
  frame.complete();
  return scope.post(frame);
}

CUresult cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode* dependencies,
                                           size_t numDependencies, unsigned int flags) {
  return cuStreamUpdateCaptureDependencies_v2(hStream, dependencies, nullptr, numDependencies, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr || !is_mode(*mode)) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, thread_state().capture_mode);
  return CUDA_SUCCESS;
}

}  // namespace sluice::client::calls
