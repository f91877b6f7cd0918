// An event: a mark in a stream, with the time at which the stream came past it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "common/cuda_types.h"
#include "softgpu/handle.h"

namespace sluice::softgpu {

class Context;
class Stream;

// One cuEventRecord. Waits refer to it and not to the event, which may be recorded again meanwhile.
struct EventRecord {
  std::shared_ptr<Stream> stream;
  uint64_t number = 0;
  std::atomic<uint64_t> time_ns{0};
  bool done() const;
};

class Event {
 public:
  static constexpr HandleKind kKind = HandleKind::kEvent;

  Event(Context& owner, unsigned event_flags);
  ~Event();

  CUevent handle() const { return static_cast<CUevent>(handle_); }
  // Null when it was never recorded.
  std::shared_ptr<EventRecord> last() const;
  CUresult record(const std::shared_ptr<Stream>& stream);
  // After everything that is queued in the context now.
  CUresult record_all();

  Context& context;
  const unsigned flags;

 private:
  void* handle_;
  mutable std::mutex mutex_;
  std::shared_ptr<EventRecord> last_;
};

}  // namespace sluice::softgpu
