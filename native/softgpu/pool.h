// A memory pool: what cuMemAllocAsync takes from. Memory goes back to the device when it is freed, so a pool
// only counts; its release threshold is kept for the caller and has nothing to hold back.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/cuda_types.h"
#include "softgpu/handle.h"

namespace sluice::softgpu {

struct Device;

class Pool {
 public:
  static constexpr HandleKind kKind = HandleKind::kPool;

  explicit Pool(Device& owner) : device(owner), handle_(create_handle(kKind, this)) {}
  ~Pool() { destroy_handle(handle_); }

  CUmemoryPool handle() const { return static_cast<CUmemoryPool>(handle_); }
  void count(int64_t change) {
    const uint64_t now = used.fetch_add(static_cast<uint64_t>(change)) + static_cast<uint64_t>(change);
    uint64_t high = used_high.load();
    while (now > high && !used_high.compare_exchange_weak(high, now)) {
    }
  }

  Device& device;
  std::atomic<uint64_t> used{0};
  std::atomic<uint64_t> used_high{0};
  std::atomic<uint64_t> release_threshold{0};
  std::atomic<int> reuse_flags[3] = {1, 1, 1};
  // Bit per device that may use this pool's memory besides the owner.
  std::atomic<uint32_t> access{0};
  uint64_t max_bytes = 0;  // 0: the device's memory

 private:
  void* handle_;
};

}  // namespace sluice::softgpu
