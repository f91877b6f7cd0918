// Device memory is addresses and nothing behind them; host memory is real.
#include <sys/mman.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "generated/cuda_functions.h"
#include "noop_driver/answer.h"

namespace {

constexpr size_t kReserved = size_t{1} << 40;
constexpr size_t kStep = size_t{2} << 20;

/// Hands out addresses of a reserved range, and freed ones again by their size.
class Addresses {
 public:
  CUresult allocate(CUdeviceptr* out, size_t bytes) {
    if (bytes == 0 || bytes > kReserved) return CUDA_ERROR_INVALID_VALUE;
    const size_t size = (bytes + kStep - 1) / kStep * kStep;
    const std::lock_guard lock(mutex_);
    auto& idle = idle_[size];
    if (!idle.empty()) {
      *out = idle.back();
      idle.pop_back();
    } else {
      if (next_ == 0 && !reserve()) return CUDA_ERROR_OUT_OF_MEMORY;
      if (end_ - next_ < size) return CUDA_ERROR_OUT_OF_MEMORY;
      *out = next_;
      next_ += size;
    }
    sizes_[*out] = size;
    return CUDA_SUCCESS;
  }

  CUresult free(CUdeviceptr address) {
    const std::lock_guard lock(mutex_);
    const auto known = sizes_.find(address);
    if (known == sizes_.end()) return CUDA_ERROR_INVALID_VALUE;
    idle_[known->second].push_back(address);
    sizes_.erase(known);
    return CUDA_SUCCESS;
  }

 private:
  bool reserve() {
    void* got = mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) return false;
    next_ = (reinterpret_cast<CUdeviceptr>(got) + kStep - 1) / kStep * kStep;
    end_ = reinterpret_cast<CUdeviceptr>(got) + kReserved;
    return true;
  }

  std::mutex mutex_;
  CUdeviceptr next_ = 0, end_ = 0;
  std::map<size_t, std::vector<CUdeviceptr>> idle_;
  std::map<CUdeviceptr, size_t> sizes_;
};

Addresses& addresses() {
  static auto* all = new Addresses;  // used until the process ends
  return *all;
}

CUresult host_memory(void** out, size_t bytes) {
  constexpr size_t kPage = 4096;
  *out = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (*out == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  // Copies back deliver what lies here; zeros would flatter whoever compresses.
  uint64_t state = 0x9E3779B97F4A7C15u;
  for (size_t at = 0; at + 8 <= bytes; at += 8) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    static_cast<uint64_t*>(*out)[at / 8] = state;
  }
  return CUDA_SUCCESS;
}

}  // namespace

NOOP_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  return addresses().allocate(out, bytes);
}
NOOP_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) { return addresses().free(address); }

NOOP_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr* out, size_t* pitch, size_t width, size_t height,
                                        unsigned int) {
  *pitch = (width + 511) / 512 * 512;
  if (height != 0 && *pitch > kReserved / height) return CUDA_ERROR_OUT_OF_MEMORY;
  return addresses().allocate(out, *pitch * height);
}

NOOP_EXPORT CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream) {
  return addresses().allocate(out, bytes);
}
NOOP_EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t bytes, CUmemoryPool, CUstream) {
  return addresses().allocate(out, bytes);
}
NOOP_EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream) { return addresses().free(address); }

NOOP_EXPORT CUresult cuMemAllocHost_v2(void** out, size_t bytes) { return host_memory(out, bytes); }
NOOP_EXPORT CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned int) {
  return host_memory(out, bytes);
}
NOOP_EXPORT CUresult cuMemFreeHost(void* memory) {
  std::free(memory);
  return CUDA_SUCCESS;
}
