// What the driver that does nothing answers where nothing better is written for a function.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

// A default that a definition in one of the other files replaces.
#define NOOP_DEFAULT __attribute__((weak, visibility("default")))
#define NOOP_EXPORT extern "C" __attribute__((visibility("default")))

namespace sluice::noop {

/// A handle that no other object has.
inline void* next_handle() {
  static std::atomic<uintptr_t> next{0x10000};
  return reinterpret_cast<void*>(next.fetch_add(16, std::memory_order_relaxed));
}

/// A handle or a zero, where the caller wants one at all.
template <typename T>
void answer(T* out) {
  if (out == nullptr) return;
  if constexpr (std::is_pointer_v<T>) {
    *out = static_cast<T>(next_handle());
  } else {
    *out = T{};
  }
}

}  // namespace sluice::noop

using sluice::noop::answer;
