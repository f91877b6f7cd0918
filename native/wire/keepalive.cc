#include "wire/keepalive.h"

#include <poll.h>

#include "common/env.h"

namespace sluice::wire {
namespace {

constexpr int64_t kDefaultMs = 10'000;

bool takes_bytes(int socket) {
  pollfd wait{socket, POLLOUT, 0};
  return ::poll(&wait, 1, 0) == 1 && (wait.revents & POLLOUT) != 0;
}

}  // namespace

std::chrono::milliseconds keepalive_interval() {
  // Read once: programs change their environment, and reading it is not thread-safe then.
  static const auto interval = [] {
    const auto wanted = env::integer("SLUICE_KEEPALIVE_MS", 10, 3'600'000);
    return std::chrono::milliseconds(wanted ? wanted->value_or(kDefaultMs) : kDefaultMs);
  }();
  return interval;
}

bool Keepalive::look(std::mutex& write_mutex, const void* frame, size_t size,
                     std::chrono::milliseconds longest, uint64_t received) {
  const auto now = SteadyClock::now();
  if (connection_.bytes_written() != written_) {
    written_ = connection_.bytes_written();
    said_ = now;
  } else if (now - said_ >= keepalive_interval()) {
    // Whoever holds the lock is sending. A full connection would hold this thread up.
    const std::unique_lock lock(write_mutex, std::try_to_lock);
    if (lock.owns_lock() && takes_bytes(connection_.fd())) connection_.write_all(frame, size);
  }
  if (received != read_) {
    read_ = received;
    heard_ = now;
    return true;
  }
  if (now - heard_ < longest) return true;
  // What has arrived but was not read yet, as after this process was stopped, counts.
  pollfd wait{connection_.fd(), POLLIN, 0};
  if (::poll(&wait, 1, 0) == 0) return false;
  heard_ = now;
  return true;
}

}  // namespace sluice::wire
