// Stream capture.
#include <cstring>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/graph/capture.h"

namespace sluice::softgpu {
namespace {

CUresult find_stream(CUstream handle, std::shared_ptr<Stream>* out) {
  if (const auto* own = lookup<Stream>(handle); own != nullptr)
    return own->context->resolve_stream(handle, out);
  Context* context = nullptr;
  SLUICE_TRY(current_context(&context));
  return context->resolve_stream(handle, out);
}

bool is_legacy(CUstream handle) { return handle == nullptr || handle == CU_STREAM_LEGACY; }

CUresult make_edges(const Graph& graph, const CUgraphNode* nodes, const CUgraphEdgeData* data, size_t count,
                    std::vector<Edge>* out) {
  std::vector<Node*> found;
  SLUICE_TRY(find_nodes(graph, nodes, count, &found));
  for (size_t i = 0; i < count; i++) out->push_back({found[i], data ? data[i] : CUgraphEdgeData{}});
  return CUDA_SUCCESS;
}

CUresult begin(CUstream handle, CUstreamCaptureMode mode, CUgraph into, const CUgraphNode* after,
               const CUgraphEdgeData* data, size_t count, bool into_existing) {
  if (is_legacy(handle)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  std::shared_ptr<Stream> stream;
  SLUICE_TRY(find_stream(handle, &stream));
  SLUICE_TRY(stream->context->error());
  const std::lock_guard lock(graph_mutex());
  std::shared_ptr<Graph> graph;
  std::vector<Edge> edges;
  if (into_existing) {
    auto* given = lookup<Graph>(into);
    if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
    graph = given->shared_from_this();
    SLUICE_TRY(make_edges(*graph, after, data, count, &edges));
  }
  return begin_capture(*stream, mode, std::move(graph), std::move(edges));
}

CUresult end(CUstream handle, CUgraph* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = nullptr;
  if (is_legacy(handle)) return CUDA_ERROR_ILLEGAL_STATE;
  std::shared_ptr<Stream> stream;
  SLUICE_TRY(find_stream(handle, &stream));
  const std::lock_guard lock(graph_mutex());
  const auto capture = capture_of(*stream);
  std::shared_ptr<Graph> graph;
  SLUICE_TRY(end_capture(*stream, &graph));
  *out = capture->into_existing ? graph->handle() : publish_graph(std::move(graph));
  return CUDA_SUCCESS;
}

CUresult status(CUstream handle, CUstreamCaptureStatus* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  SLUICE_TRY(find_stream(handle, &stream));
  *out = CU_STREAM_CAPTURE_STATUS_NONE;
  if (!may_be_capturing()) return CUDA_SUCCESS;
  if (is_legacy(handle)) SLUICE_TRY(refuse_implicit_dependency(*stream));
  const std::lock_guard lock(graph_mutex());
  if (const auto capture = capture_of(*stream)) {
    *out = capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  }
  return CUDA_SUCCESS;
}

CUresult info(CUstream handle, CUstreamCaptureStatus* status_out, unsigned long long* id, CUgraph* graph,
              const CUgraphNode** nodes, const CUgraphEdgeData** data, size_t* count) {
  SLUICE_TRY(status(handle, status_out));
  if (*status_out != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  std::shared_ptr<Stream> stream;
  SLUICE_TRY(find_stream(handle, &stream));
  const std::lock_guard lock(graph_mutex());
  const auto capture = capture_of(*stream);
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;  // another thread has ended it
  capture->shown.clear();
  capture->shown_data.clear();
  bool has_data = false;
  for (const Edge& edge : capture->ends[stream.get()]) {
    capture->shown.push_back(edge.from->handle());
    capture->shown_data.push_back(edge.data);
    has_data = has_data || edge.data.type != 0;
  }
  if (has_data && nodes != nullptr && data == nullptr) return CUDA_ERROR_LOSSY_QUERY;
  if (id != nullptr) *id = capture->id;
  if (graph != nullptr) *graph = capture->graph->handle();
  if (nodes != nullptr) *nodes = capture->shown.data();
  if (data != nullptr) *data = capture->shown_data.data();
  if (count != nullptr) *count = capture->shown.size();
  return CUDA_SUCCESS;
}

CUresult update(CUstream handle, const CUgraphNode* nodes, const CUgraphEdgeData* data, size_t count,
                unsigned flags) {
  if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  SLUICE_TRY(find_stream(handle, &stream));
  const std::lock_guard lock(graph_mutex());
  const auto capture = capture_of(*stream);
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  std::vector<Edge> edges;
  SLUICE_TRY(make_edges(*capture->graph, nodes, data, count, &edges));
  auto& end = capture->ends[stream.get()];
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) end.clear();
  for (const Edge& edge : edges) {
    bool known = false;
    for (const Edge& own : end) known = known || own.from == edge.from;
    if (!known) end.push_back(edge);
  }
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API_PAIR(cuStreamBeginCapture, _ptsz, (CUstream stream),
                return begin(pick(stream), CU_STREAM_CAPTURE_MODE_GLOBAL, nullptr, nullptr, nullptr, 0,
                             false);)
SLUICE_API_PAIR(cuStreamBeginCapture_v2, _ptsz, (CUstream stream, CUstreamCaptureMode mode),
                return begin(pick(stream), mode, nullptr, nullptr, nullptr, 0, false);)
SLUICE_API_PAIR(cuStreamBeginCaptureToGraph, _ptsz,
                (CUstream stream, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData* data,
                 size_t count, CUstreamCaptureMode mode),
                return begin(pick(stream), mode, graph, after, data, count, true);)
SLUICE_API_PAIR(cuStreamEndCapture, _ptsz, (CUstream stream, CUgraph* graph),
                return end(pick(stream), graph);)
SLUICE_API_PAIR(cuStreamIsCapturing, _ptsz, (CUstream stream, CUstreamCaptureStatus* out),
                return status(pick(stream), out);)
SLUICE_API_PAIR(cuStreamGetCaptureInfo, _ptsz,
                (CUstream stream, CUstreamCaptureStatus* out, unsigned long long* id),
                return info(pick(stream), out, id, nullptr, nullptr, nullptr, nullptr);)
SLUICE_API_PAIR(cuStreamGetCaptureInfo_v2, _ptsz,
                (CUstream stream, CUstreamCaptureStatus* out, unsigned long long* id, CUgraph* graph,
                 const CUgraphNode** nodes, size_t* count),
                return info(pick(stream), out, id, graph, nodes, nullptr, count);)
SLUICE_API_PAIR(cuStreamGetCaptureInfo_v3, _ptsz,
                (CUstream stream, CUstreamCaptureStatus* out, unsigned long long* id, CUgraph* graph,
                 const CUgraphNode** nodes, const CUgraphEdgeData** data, size_t* count),
                return info(pick(stream), out, id, graph, nodes, data, count);)
SLUICE_API_PAIR(cuStreamUpdateCaptureDependencies, _ptsz,
                (CUstream stream, CUgraphNode* nodes, size_t count, unsigned flags),
                return update(pick(stream), nodes, nullptr, count, flags);)
SLUICE_API_PAIR(cuStreamUpdateCaptureDependencies_v2, _ptsz,
                (CUstream stream, CUgraphNode* nodes, const CUgraphEdgeData* data, size_t count,
                 unsigned flags),
                return update(pick(stream), nodes, data, count, flags);)

SLUICE_API cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return api([&]() -> CUresult {
    if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    exchange_capture_mode(mode);
    return CUDA_SUCCESS;
  });
}

namespace sluice::softgpu {

std::span<const Entry> capture_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY_PAIR("cuStreamBeginCapture", 10000, cuStreamBeginCapture, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamBeginCapture", 10010, cuStreamBeginCapture_v2, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamBeginCaptureToGraph", 12030, cuStreamBeginCaptureToGraph, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamEndCapture", 10000, cuStreamEndCapture, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamIsCapturing", 10000, cuStreamIsCapturing, _ptsz),
      SLUICE_ENTRY("cuThreadExchangeStreamCaptureMode", 10010, cuThreadExchangeStreamCaptureMode),
      SLUICE_ENTRY_PAIR("cuStreamGetCaptureInfo", 10010, cuStreamGetCaptureInfo, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamGetCaptureInfo", 11030, cuStreamGetCaptureInfo_v2, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamGetCaptureInfo", 12030, cuStreamGetCaptureInfo_v3, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamUpdateCaptureDependencies", 11030, cuStreamUpdateCaptureDependencies, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamUpdateCaptureDependencies", 12030, cuStreamUpdateCaptureDependencies_v2,
                        _ptsz),
  };
  return entries;
}

}  // namespace sluice::softgpu
