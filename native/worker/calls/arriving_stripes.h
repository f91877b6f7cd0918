// Further connections of the client on their way to the session.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "wire/stripes.h"

namespace sluice::worker {

class ArrivingStripes {
 public:
  // The first of each index counts.
  void add(size_t index, std::unique_ptr<wire::Connection> connection);
  // The first `count`, waiting for those that are missing. None when they do not come in time.
  std::vector<std::unique_ptr<wire::Connection>> take(size_t count, std::chrono::milliseconds within);
  // The one with that index; null when it does not come in time.
  std::unique_ptr<wire::Connection> take_one(size_t index, std::chrono::milliseconds within);

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::array<std::unique_ptr<wire::Connection>, wire::kFirstPeer + wire::kPeers> connections_;
};

// Those of this process's session.
ArrivingStripes& arriving_stripes();

}  // namespace sluice::worker
