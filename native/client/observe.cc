#include <atomic>

#include "client/export.h"
#include "client/stats.h"
#include "common/log.h"

namespace sluice::client {

// True until the first call has read the environment.
std::atomic<bool> observing{true};

void observe_call(const char* name) {
  static const bool wanted = [] {
    const bool on = stats_wanted() || log::enabled(log::Level::debug);
    if (!on) observing.store(false, std::memory_order_relaxed);
    return on;
  }();
  if (!wanted) return;
  stats().calls.fetch_add(1, std::memory_order_relaxed);
  SLUICE_DEBUG("%s", name);
}

CUresult refuse(const char* function, const char* reason, std::atomic<bool>* told) {
  if (!told->exchange(true, std::memory_order_relaxed)) {
    SLUICE_WARN("%s is not supported: %s.", function, reason);
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace sluice::client
