#include "common/clock.h"

#include <algorithm>
#include <limits>

namespace sluice {

using std::chrono::duration_cast;

int64_t unix_ms() {
  return duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

int64_t steady_ns() {
  return duration_cast<std::chrono::nanoseconds>(SteadyClock::now().time_since_epoch()).count();
}

int poll_timeout_ms(const Deadline& deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - SteadyClock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, std::numeric_limits<int>::max()));
}

Deadline earlier(const Deadline& a, const Deadline& b) {
  if (!a) return b;
  if (!b) return a;
  return std::min(*a, *b);
}

}  // namespace sluice
