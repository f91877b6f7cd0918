#include "client/captures.h"

#include "client/graph_model.h"
#include "client/scope.h"
#include "client/task_order.h"

namespace sluice::client {

void Captures::begin(uint64_t id, const Capture& capture) {
  const std::lock_guard lock(mutex_);
  captures_[id] = capture;
  active_.store(static_cast<int>(captures_.size()), std::memory_order_release);
}

Capture Captures::end(uint64_t id) {
  const std::lock_guard lock(mutex_);
  auto entry = captures_.extract(id);
  active_.store(static_cast<int>(captures_.size()), std::memory_order_release);
  return entry.empty() ? Capture{} : entry.mapped();
}

bool Captures::find(uint64_t id, Capture* capture) {
  if (id == 0) return false;
  const std::lock_guard lock(mutex_);
  const auto at = captures_.find(id);
  if (at == captures_.end()) return false;
  *capture = at->second;
  return true;
}

void Captures::join(uint64_t id, bool blocking) {
  const std::lock_guard lock(mutex_);
  const auto at = captures_.find(id);
  if (at != captures_.end() && blocking) at->second.blocking = true;
}

void Captures::invalidate(uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto at = captures_.find(id);
  if (at != captures_.end()) at->second.invalid = true;
}

bool Captures::conflicts_with_default_stream(std::vector<std::pair<uint64_t, Stream*>>* conflicting) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, capture] : captures_) {
    if (capture.blocking) conflicting->emplace_back(id, capture.origin);
  }
  return !conflicting->empty();
}

std::vector<std::pair<uint64_t, Stream*>> Captures::forbidding(const void* thread, CUstreamCaptureMode mode) {
  std::vector<std::pair<uint64_t, Stream*>> found;
  if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) return found;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, capture] : captures_) {
    const bool own = capture.thread == thread && capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool others =
        mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (own || others) found.emplace_back(id, capture.origin);
  }
  return found;
}

void invalidate_captures(Session& session, const std::vector<std::pair<uint64_t, Stream*>>& captures) {
  for (const auto& [id, stream] : captures) {
    session.captures.invalidate(id);
    wire::AsyncFrame<4> frame(wire::ControlCall::invalidate_capture);
    frame.put(stream->index);
    stream->context->channel->post(stream->context->index, frame.data(), frame.size());
  }
}

bool capture_forbids() {
  Session* session = nullptr;
  if (current_session(&session) != CUDA_SUCCESS || !session->captures.any()) return false;
  const ThreadState& thread = thread_state();
  const auto forbidding = session->captures.forbidding(&thread, thread.capture_mode);
  invalidate_captures(*session, forbidding);
  return !forbidding.empty();
}

namespace {

CUresult capture_node(Scope& scope, Stream* stream, const wire::GraphNode& node,
                      const std::shared_ptr<GraphTask>& task) {
  Capture capture;
  if (!scope.session->captures.find(scope.capture, &capture)) return CUDA_ERROR_ILLEGAL_STATE;
  const std::lock_guard lock(scope.session->graph_mutex);
  root_of(*capture.graph).kept.tasks.emplace_back(0, task);
  wire::DynamicFrame frame(wire::ControlCall::capture_node);
  frame.arguments().put(stream->index);
  wire::put_node(frame.arguments(), node);
  frame.complete();
  return scope.post(frame);
}

}  // namespace

CUresult capture_copy(Scope& scope, Stream* stream, const CUDA_MEMCPY3D& copy) {
  NodeData data;
  data.params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  data.params.memcpy.copyParams = copy;
  wire::GraphNode node;
  if (CUresult error = to_wire(scope, &data, &node)) return error;
  return data.task ? capture_node(scope, stream, node, data.task) : CUDA_ERROR_INVALID_VALUE;
}

CUresult capture_function(Scope& scope, Stream* stream, CUhostFn function, void* user_data) {
  NodeData data;
  data.params.type = CU_GRAPH_NODE_TYPE_HOST;
  data.params.host = {function, user_data};
  wire::GraphNode node;
  if (CUresult error = to_wire(scope, &data, &node)) return error;
  return capture_node(scope, stream, node, data.task);
}

}  // namespace sluice::client
