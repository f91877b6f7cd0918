// Whether a stream may be standing at a value in memory that a later call has to write.
#pragma once

#include <cstdint>
#include <deque>

#include "generated/driver_table.h"

namespace sluice::worker {

// An event after each wait tells when the stream has come past it. Used by the leading thread only.
class StreamWaits {
 public:
  explicit StreamWaits(generated::DriverTable& driver) : driver_(driver) {}

  // A wait was put into the stream, in the current context, which has that index.
  void added(uint32_t context, CUstream stream);
  // Whether a stream has not come past all its waits. The leading thread must then not wait for the GPU: it
  // could be waiting for what only it can read.
  bool outstanding();
  // The context goes, and its events with it.
  void forget(uint32_t context);

 private:
  struct Wait {
    CUevent after;
    uint32_t context;
  };
  generated::DriverTable& driver_;
  std::deque<Wait> waits_;
};

}  // namespace sluice::worker
