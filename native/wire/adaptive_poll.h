// When to look for data again and again before sleeping for it.
//
// Waking a thread costs several times what loopback or a fast network needs for a round trip. Whoever
// waits for something that comes within some tens of microseconds is better off polling; whoever does
// not only takes a core from others. So each miss doubles the number of waits that sleep at once.
#pragma once

#include <chrono>
#include <cstdint>

#include "common/clock.h"

namespace sluice::wire {

// The state of one waiting party; used by one thread at a time.
class AdaptivePoll {
 public:
  // Looks with `look` until it says true, for a few tens of microseconds. False when it never did, or when
  // polling does not pay at present: then the caller sleeps.
  template <typename Look>
  bool run(Look&& look) {
    if (skip_ > 0) {
      skip_--;
      return false;
    }
    if (!cores_to_spare()) {
      skip_ = kMostSkipped;
      return false;
    }
    auto before = SteadyClock::now();
    const auto end = before + kLongest;
    for (;;) {
      if (look()) {
        misses_ = 0;
        return true;
      }
      const auto now = SteadyClock::now();
      if (now >= end) break;
      // Somebody else got this core in between: polling is at the expense of others.
      if (now - before > kDisplaced) misses_ = kMostMisses;
      before = now;
    }
    if (misses_ < kMostMisses) misses_++;
    skip_ = (1u << misses_) - 1;
    return false;
  }

 private:
  static constexpr std::chrono::microseconds kLongest{60};
  static constexpr std::chrono::microseconds kDisplaced{30};
  static constexpr unsigned kMostMisses = 8;
  static constexpr unsigned kMostSkipped = (1u << kMostMisses) - 1;

  // On a single core the other side could not even run while we poll.
  static bool cores_to_spare();

  unsigned misses_ = 0;
  unsigned skip_ = 0;  // waits that are to sleep at once
};

}  // namespace sluice::wire
