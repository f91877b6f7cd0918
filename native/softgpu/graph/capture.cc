#include "softgpu/graph/capture.h"

#include <algorithm>
#include <utility>

#include "softgpu/context.h"
#include "softgpu/event.h"

namespace sluice::softgpu {

std::atomic<int> captures_under_way{0};

namespace {

uint64_t next_capture_id = 1;
thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

// Under graph_mutex().
std::unordered_map<const Stream*, std::shared_ptr<Capture>>& streams() {
  static auto* all = new std::unordered_map<const Stream*, std::shared_ptr<Capture>>;
  return *all;
}

std::vector<std::shared_ptr<Capture>> all_captures() {
  std::vector<std::shared_ptr<Capture>> found;
  for (const auto& [stream, capture] : streams()) {
    if (std::find(found.begin(), found.end(), capture) == found.end()) found.push_back(capture);
  }
  return found;
}

void add_edges(std::vector<Edge>& to, const std::vector<Edge>& more) {
  for (const Edge& edge : more) {
    const bool known =
        std::any_of(to.begin(), to.end(), [&](const Edge& own) { return own.from == edge.from; });
    if (!known) to.push_back(edge);
  }
}

CUresult invalidate(Capture& capture, CUresult why) {
  capture.invalid = true;
  return why;
}

// The nodes that come before the end of the stream.
std::unordered_set<const Node*> before_end(const Capture& capture, const Stream& stream) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> open;
  const auto at = capture.ends.find(&stream);
  if (at == capture.ends.end()) return seen;
  for (const Edge& edge : at->second) open.push_back(edge.from);
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    for (const Edge& edge : node->in) open.push_back(edge.from);
  }
  return seen;
}

// Work that was forked off and has not come back to the origin.
bool has_unjoined_work(const Capture& capture) {
  const auto joined = before_end(capture, *capture.origin);
  for (const auto& [stream, ends] : capture.ends) {
    if (stream == capture.origin) continue;
    for (const Edge& edge : ends) {
      if (!joined.contains(edge.from)) return true;
    }
  }
  return false;
}

}  // namespace

std::shared_ptr<Capture> capture_of(const Stream& stream) {
  const auto at = streams().find(&stream);
  return at == streams().end() ? nullptr : at->second;
}

CUresult add_to_capture(Capture& capture, const Stream& stream, Work work) {
  std::vector<Edge>& end = capture.ends[&stream];
  Node* node = capture.graph->add(std::move(work));
  for (const Edge& edge : end) connect(*edge.from, *node, edge.data);
  end = {{node, {}}};
  return CUDA_SUCCESS;
}

CUresult refuse_while_capturing(const Stream& stream) {
  if (!may_be_capturing()) return CUDA_SUCCESS;
  const std::lock_guard lock(graph_mutex());
  const auto capture = capture_of(stream);
  return capture ? invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) : CUDA_SUCCESS;
}

CUresult refuse_while_context_captures(const Context& context) {
  if (!may_be_capturing()) return CUDA_SUCCESS;
  const std::lock_guard lock(graph_mutex());
  CUresult result = CUDA_SUCCESS;
  for (const auto& [stream, capture] : streams()) {
    if (stream->context.get() == &context)
      result = invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  return result;
}

CUresult refuse_unsafe_call() {
  if (!may_be_capturing() || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  const std::lock_guard lock(graph_mutex());
  CUresult result = CUDA_SUCCESS;
  for (const auto& capture : all_captures()) {
    if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
    const bool own = capture->thread == std::this_thread::get_id();
    const bool others_too =
        capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (own || others_too) result = invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  return result;
}

CUresult refuse_implicit_dependency(const Stream& legacy) {
  if (!may_be_capturing()) return CUDA_SUCCESS;
  const std::lock_guard lock(graph_mutex());
  CUresult result = CUDA_SUCCESS;
  for (const auto& [stream, capture] : streams()) {
    if (stream != &legacy && stream->context == legacy.context && stream->is_blocking())
      result = invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  }
  return result;
}

void forget_stream(const Stream& stream) {
  if (!may_be_capturing()) return;
  const std::lock_guard lock(graph_mutex());
  const auto capture = capture_of(stream);
  if (capture == nullptr) return;
  capture->invalid = true;
  streams().erase(&stream);
  capture->ends.erase(&stream);
  if (capture->origin == &stream) {
    std::erase_if(streams(), [&](const auto& entry) { return entry.second == capture; });
    captures_under_way.fetch_sub(1);
  }
}

CUresult begin_capture(Stream& stream, CUstreamCaptureMode mode, std::shared_ptr<Graph> into,
                       std::vector<Edge> after) {
  if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_INVALID_VALUE;
  if (capture_of(stream) != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->id = next_capture_id++;
  capture->into_existing = into != nullptr;
  capture->graph = into ? std::move(into) : std::make_shared<Graph>();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = &stream;
  capture->ends[&stream] = std::move(after);
  streams()[&stream] = std::move(capture);
  captures_under_way.fetch_add(1);
  return CUDA_SUCCESS;
}

CUresult end_capture(Stream& stream, std::shared_ptr<Graph>* out) {
  out->reset();
  const auto capture = capture_of(stream);
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != &stream) return invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id())
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  CUresult result = capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
  if (result == CUDA_SUCCESS && has_unjoined_work(*capture)) result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  std::erase_if(streams(), [&](const auto& entry) { return entry.second == capture; });
  captures_under_way.fetch_sub(1);
  if (result == CUDA_SUCCESS) *out = capture->graph;
  return result;
}

bool capture_record(Event& event, const Stream& stream, unsigned flags, CUresult* result) {
  if (!may_be_capturing()) return false;
  const std::lock_guard lock(graph_mutex());
  const auto capture = capture_of(stream);
  forget_event(event);
  if (capture == nullptr) return false;
  if (capture->invalid) {
    *result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  } else if ((flags & CU_EVENT_RECORD_EXTERNAL) != 0) {
    *result = add_to_capture(*capture, stream, RecordWork{event.handle()});
  } else {
    capture->events[&event] = capture->ends[&stream];
    *result = CUDA_SUCCESS;
  }
  return true;
}

bool capture_wait(Stream& stream, Event& event, unsigned flags, CUresult* result) {
  if (!may_be_capturing()) return false;
  const std::lock_guard lock(graph_mutex());
  const auto capture = capture_of(stream);
  std::shared_ptr<Capture> of_event;
  for (const auto& each : all_captures()) {
    if (each->events.contains(&event)) of_event = each;
  }
  if (capture == nullptr && of_event == nullptr) return false;
  if (capture != nullptr && (flags & CU_EVENT_WAIT_EXTERNAL) != 0) {
    *result = add_to_capture(*capture, stream, WaitWork{event.handle()});
  } else if (of_event == nullptr) {
    // Nothing to wait for is allowed; what lies outside of the capture cannot become part of it.
    *result =
        event.last() == nullptr ? CUDA_SUCCESS : invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  } else if (of_event->invalid) {
    *result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  } else if (capture != nullptr && capture != of_event) {
    invalidate(*of_event, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    *result = invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  } else {
    streams()[&stream] = of_event;
    add_edges(of_event->ends[&stream], of_event->events[&event]);
    *result = CUDA_SUCCESS;
  }
  return true;
}

CUresult refuse_captured_event(const Event& event) {
  if (!may_be_capturing()) return CUDA_SUCCESS;
  const std::lock_guard lock(graph_mutex());
  for (const auto& capture : all_captures()) {
    if (capture->events.contains(&event)) return invalidate(*capture, CUDA_ERROR_CAPTURED_EVENT);
  }
  return CUDA_SUCCESS;
}

void forget_event(const Event& event) {
  if (!may_be_capturing()) return;
  const std::lock_guard lock(graph_mutex());
  for (const auto& capture : all_captures()) capture->events.erase(&event);
}

void exchange_capture_mode(CUstreamCaptureMode* mode) { std::swap(*mode, thread_mode); }

}  // namespace sluice::softgpu
