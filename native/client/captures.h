// Captures that the process has begun and not ended. While there are none, nothing here costs more than one
// look at a counter. The rules about threads are CUDA's for stream capture; they are kept here because the
// worker does not know which thread of the program a call comes from.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "client/graph.h"

namespace sluice::client {

class Scope;

// A capture that was begun and not ended.
struct Capture {
  Stream* origin = nullptr;
  Graph* graph = nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  const void* thread = nullptr;
  bool is_new = true;     // it makes the graph, else it adds to one
  bool blocking = false;  // a stream of it is ordered with the default stream
  bool invalid = false;
};

// The captures of the process.
class Captures {
 public:
  bool any() const { return active_.load(std::memory_order_acquire) > 0; }
  void begin(uint64_t id, const Capture& capture);
  // Takes it out.
  Capture end(uint64_t id);
  // A copy of what is known; false when there is no such capture.
  bool find(uint64_t id, Capture* capture);
  void join(uint64_t id, bool blocking);
  void invalidate(uint64_t id);
  // Those to which work in the default stream would be ordered; whether there are any.
  bool conflicts_with_default_stream(std::vector<std::pair<uint64_t, Stream*>>* conflicting);
  // Those that forbid the thread calls which may wait for, or order, the work of other streams.
  std::vector<std::pair<uint64_t, Stream*>> forbidding(const void* thread, CUstreamCaptureMode mode);

 private:
  std::atomic<int> active_{0};
  std::mutex mutex_;
  std::map<uint64_t, Capture> captures_;
};

// The program did what these captures do not survive: the worker is told.
void invalidate_captures(Session& session, const std::vector<std::pair<uint64_t, Stream*>>& captures);

// For calls that may wait for, or order, the work of streams that they do not name: whether captures forbid
// them to this thread. If they do, the captures are invalid from here on.
bool capture_forbids();

// Adds a node that the client serves to the graph that the scope's stream is captured into.
CUresult capture_copy(Scope& scope, Stream* stream, const CUDA_MEMCPY3D& copy);
CUresult capture_function(Scope& scope, Stream* stream, CUhostFn function, void* user_data);

}  // namespace sluice::client
