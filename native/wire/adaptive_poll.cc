#include "wire/adaptive_poll.h"

#include <sched.h>

#include <algorithm>

namespace sluice::wire {
namespace {

constexpr unsigned kMostMisses = 6;
// A lost core costs milliseconds, a wait that sleeps some tens of microseconds.
constexpr unsigned kSkipWhenDisplaced = 256;
constexpr unsigned kMostSkipped = 4096;

}  // namespace

void AdaptivePoll::let_others_run() { ::sched_yield(); }

void AdaptivePoll::missed() {
  misses_ = std::min(misses_ + 1, kMostMisses);
  skip_ = (1u << misses_) - 1;
}

void AdaptivePoll::displaced() {
  skip_ = std::clamp(crowded_ * 4, kSkipWhenDisplaced, kMostSkipped);
  crowded_ = skip_;
}

}  // namespace sluice::wire
