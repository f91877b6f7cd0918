#include "worker/calls/stream_waits.h"

#include <algorithm>

namespace sluice::worker {
namespace {

// More waits at once are watched by the last ones only, which come later in their streams.
constexpr size_t kMostWatched = 1024;

}  // namespace

void StreamWaits::added(uint32_t context, CUstream stream) {
  CUevent after = nullptr;
  if (driver_.cuEventCreate(&after, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return;
  if (driver_.cuEventRecord(after, stream) != CUDA_SUCCESS) {
    driver_.cuEventDestroy_v2(after);
    return;
  }
  if (waits_.size() >= kMostWatched && outstanding() && waits_.size() >= kMostWatched) {
    driver_.cuEventDestroy_v2(waits_.front().after);
    waits_.pop_front();
  }
  waits_.push_back({after, context});
}

bool StreamWaits::outstanding() {
  std::erase_if(waits_, [this](const Wait& wait) {
    if (driver_.cuEventQuery(wait.after) == CUDA_ERROR_NOT_READY) return false;
    driver_.cuEventDestroy_v2(wait.after);
    return true;
  });
  return !waits_.empty();
}

void StreamWaits::forget(uint32_t context) {
  std::erase_if(waits_, [context](const Wait& wait) { return wait.context == context; });
}

}  // namespace sluice::worker
