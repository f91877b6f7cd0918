// When to look for data again and again before sleeping for it.
//
// Waking a thread costs several times what loopback or a fast network needs for a round trip. Whoever
// waits for something that comes within some tens of microseconds is better off polling; whoever does
// not only takes a core from others. So each miss doubles the number of waits that sleep at once, and
// whoever else wants the core gets it between two looks.
#pragma once

#include <chrono>

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
    auto before = SteadyClock::now();
    const auto end = before + kLongest;
    for (;;) {
      const bool found = look();
      const auto now = SteadyClock::now();
      if (now - before > kSlice) {
        displaced();
        return found;
      }
      if (found) {
        misses_ = 0;
        crowded_ = 0;
        return true;
      }
      if (now >= end) break;
      before = now;
      let_others_run();
    }
    missed();
    return false;
  }

 private:
  static constexpr std::chrono::microseconds kLongest{60};
  // Away for so long, the thread has lost its core to one that computes: sleepers get theirs back sooner.
  static constexpr std::chrono::microseconds kSlice{300};

  static void let_others_run();
  void missed();
  void displaced();

  unsigned misses_ = 0;
  unsigned crowded_ = 0;  // how many were skipped when the core was lost last; 0 once polling has paid again
  unsigned skip_ = 0;     // waits that are to sleep at once
};

}  // namespace sluice::wire
