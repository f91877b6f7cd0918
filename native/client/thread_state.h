// What belongs to a thread of the program: its stack of contexts and its default streams.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "client/objects.h"

namespace sluice::client {

struct ThreadState {
  std::vector<Context*> stack;  // the last one is current
  // The stream that CU_STREAM_PER_THREAD means, by context and its epoch; made at first use.
  std::map<std::pair<Context*, uint32_t>, CUstream> default_streams;

  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  bool in_host_function = false;  // such a thread may not call the driver

  Context* current() const { return stack.empty() ? nullptr : stack.back(); }
};

ThreadState& thread_state();

}  // namespace sluice::client
