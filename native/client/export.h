// What the generated exports need.
#pragma once

#include <atomic>

#include "common/cuda_types.h"

#define SLUICE_EXPORT __attribute__((visibility("default")))

namespace sluice::client {

// Set when calls are counted (SLUICE_STATS) or logged (SLUICE_LOG=debug).
extern std::atomic<bool> observing;

// Counts the call, and logs its name at debug level.
void observe_call(const char* name);

inline void observe(const char* name) {
  if (observing.load(std::memory_order_relaxed)) [[unlikely]]
    observe_call(name);
}

// The stream that a handle of the per-thread variant of a function means.
inline CUstream per_thread(CUstream stream) { return stream ? stream : CU_STREAM_PER_THREAD; }

// The flags that the default ones mean in the per-thread variant of cuGetProcAddress.
inline unsigned long long per_thread_lookup(unsigned long long flags) {
  constexpr unsigned long long kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  return flags == CU_GET_PROC_ADDRESS_DEFAULT ? kPerThread : flags;
}

// A launch configuration for the per-thread variant.
struct PerThreadConfig : CUlaunchConfig {
  explicit PerThreadConfig(const CUlaunchConfig* config) : CUlaunchConfig{}, given(config != nullptr) {
    if (!given) return;
    static_cast<CUlaunchConfig&>(*this) = *config;
    hStream = per_thread(hStream);
  }
  bool given;
  const CUlaunchConfig* operator&() const {
    return given ? static_cast<const CUlaunchConfig*>(this) : nullptr;
  }
};

// CUDA_ERROR_NOT_SUPPORTED, and the first time one log line that says which function and why.
CUresult refuse(const char* function, const char* reason, std::atomic<bool>* told);

}  // namespace sluice::client
