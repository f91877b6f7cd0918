// Clocks, and deadlines in the form that poll() wants them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace sluice {

using SteadyClock = std::chrono::steady_clock;
using Deadline = std::optional<SteadyClock::time_point>;  // none: wait for ever

// Milliseconds since 1970, UTC.
int64_t unix_ms();

// Nanoseconds of the monotonic clock.
int64_t steady_ns();

inline Deadline deadline_in(std::chrono::milliseconds wait) { return SteadyClock::now() + wait; }

// What is left until the deadline, rounded up, as poll()'s timeout: -1 without one, 0 when it has passed.
int poll_timeout_ms(const Deadline& deadline);

// The earlier of the two.
Deadline earlier(const Deadline& a, const Deadline& b);

}  // namespace sluice
