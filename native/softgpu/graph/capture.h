// Stream capture: what is put into a stream becomes nodes of a graph instead of being queued.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/cuda_types.h"
#include "softgpu/graph/graph.h"
#include "softgpu/stream.h"

namespace sluice::softgpu {

class Context;
class Event;

// A capture from its begin to its end, with all streams that take part. Guarded by graph_mutex().
struct Capture {
  uint64_t id = 0;
  std::shared_ptr<Graph> graph;
  bool into_existing = false;  // the graph was there before
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  const Stream* origin = nullptr;
  bool invalid = false;
  // For each stream the nodes that the next one in it comes after.
  std::unordered_map<const Stream*, std::vector<Edge>> ends;
  // Where the events that were recorded in it stand.
  std::unordered_map<const Event*, std::vector<Edge>> events;
  std::vector<CUgraphNode> shown;  // what cuStreamGetCaptureInfo has given out
  std::vector<CUgraphEdgeData> shown_data;
};

// How many captures are under way in the process: zero lets everything else return at once.
extern std::atomic<int> captures_under_way;

// The capture that the stream takes part in; null for most.
std::shared_ptr<Capture> capture_of(const Stream& stream);

inline bool may_be_capturing() { return captures_under_way.load(std::memory_order_relaxed) > 0; }

// If the stream is being captured: adds the work as a node after what is in it, stores the result of the call
// in *result and returns true. `make` makes the work and may fail, which leaves the capture as it is.
template <typename Make>
bool captured(const Stream& stream, const Make& make, CUresult* result);
CUresult add_to_capture(Capture& capture, const Stream& stream, Work work);

// For calls that are not allowed in a stream that is being captured: the error, and the capture is invalid
// from then on. Success when there is no capture in the stream.
CUresult refuse_while_capturing(const Stream& stream);
// For calls that wait for, or work in, all streams of a context.
CUresult refuse_while_context_captures(const Context& context);
// For calls such as cuMemAlloc that may wait for the device behind the program's back.
CUresult refuse_unsafe_call();
// Work in the legacy default stream would wait for every blocking stream.
CUresult refuse_implicit_dependency(const Stream& legacy);

CUresult begin_capture(Stream& stream, CUstreamCaptureMode mode, std::shared_ptr<Graph> into,
                       std::vector<Edge> after);
CUresult end_capture(Stream& stream, std::shared_ptr<Graph>* out);
// cuEventRecord and cuStreamWaitEvent where a capture is involved: true when *result is the call's result.
bool capture_record(Event& event, const Stream& stream, unsigned flags, CUresult* result);
bool capture_wait(Stream& stream, Event& event, unsigned flags, CUresult* result);
// CAPTURED_EVENT when the event was last recorded in a capture that goes on.
CUresult refuse_captured_event(const Event& event);
// The stream goes: what it takes part in cannot be finished.
void forget_stream(const Stream& stream);
// The event goes, or is recorded outside of any capture.
void forget_event(const Event& event);

// Exchanges the calling thread's mode.
void exchange_capture_mode(CUstreamCaptureMode* mode);

template <typename Make>
bool captured(const Stream& stream, const Make& make, CUresult* result) {
  if (!may_be_capturing()) return false;
  const std::lock_guard lock(graph_mutex());
  const auto capture = capture_of(stream);
  if (capture == nullptr) {
    *result = stream.is_legacy ? refuse_implicit_dependency(stream) : CUDA_SUCCESS;
    return *result != CUDA_SUCCESS;
  }
  if (capture->invalid) {
    *result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    return true;
  }
  Work work;
  *result = make(&work);
  if (*result == CUDA_SUCCESS) *result = add_to_capture(*capture, stream, std::move(work));
  return true;
}

}  // namespace sluice::softgpu
