// Which host tasks the work in a stream is ordered after, as far as the client can tell. A copy from
// page-locked memory must not read it before those have run, because they may write it.
#pragma once

#include "client/scope.h"

namespace sluice::client {

// Work in the default stream and in blocking streams is ordered with each other.
inline bool is_blocking(const Stream* stream) {
  return stream == nullptr || (stream->flags & CU_STREAM_NON_BLOCKING) == 0;
}

inline void raise(std::atomic<uint64_t>& value, uint64_t to) {
  uint64_t now = value.load(std::memory_order_relaxed);
  while (now < to && !value.compare_exchange_weak(now, to, std::memory_order_relaxed)) {
  }
}

// The last task that new work in the stream comes after; zero for none.
inline uint64_t last_task(const Context& context, const Stream* stream) {
  uint64_t task = stream ? stream->after_task.load(std::memory_order_relaxed) : 0;
  if (is_blocking(stream)) task = std::max(task, context.after_task.load(std::memory_order_relaxed));
  return task;
}

// New work in the stream comes after the task.
inline void order_after(Context& context, Stream* stream, uint64_t task) {
  if (task == 0) return;
  if (stream != nullptr) raise(stream->after_task, task);
  if (is_blocking(stream)) raise(context.after_task, task);
}

}  // namespace sluice::client
