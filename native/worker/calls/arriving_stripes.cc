#include "worker/calls/arriving_stripes.h"

#include <algorithm>

namespace sluice::worker {

void ArrivingStripes::add(size_t index, std::unique_ptr<wire::Connection> connection) {
  const std::lock_guard lock(mutex_);
  if (index >= connections_.size() || connections_[index]) return;
  connections_[index] = std::move(connection);
  arrived_.notify_all();
}

std::vector<std::unique_ptr<wire::Connection>> ArrivingStripes::take(size_t count,
                                                                     std::chrono::milliseconds within) {
  std::vector<std::unique_ptr<wire::Connection>> taken;
  if (count == 0 || count > wire::kStripes) return taken;
  const auto end = connections_.begin() + static_cast<ptrdiff_t>(count);
  std::unique_lock lock(mutex_);
  const bool all = arrived_.wait_for(lock, within, [&] {
    return std::all_of(connections_.begin(), end,
                       [](const auto& connection) { return connection != nullptr; });
  });
  if (all) std::move(connections_.begin(), end, std::back_inserter(taken));
  return taken;
}

std::unique_ptr<wire::Connection> ArrivingStripes::take_one(size_t index, std::chrono::milliseconds within) {
  if (index >= connections_.size()) return nullptr;
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, within, [&] { return connections_[index] != nullptr; });
  return std::move(connections_[index]);
}

ArrivingStripes& arriving_stripes() {
  static auto* stripes = new ArrivingStripes;  // outlives the threads that use it
  return *stripes;
}

}  // namespace sluice::worker
