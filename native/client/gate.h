// What a stream of one server waits for that a stream of another one has to reach.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice::client {

// Guarded by the mutex of HostTasks.
struct Gate {
  bool open = false;
  bool failed = false;            // what was waited for cannot come any more
  std::vector<uint32_t> waiting;  // tasks whose streams stand before it
};

}  // namespace sluice::client
