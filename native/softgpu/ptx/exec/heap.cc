#include "softgpu/ptx/exec/heap.h"

#include <cstdlib>
#include <map>
#include <mutex>

namespace sluice::ptx {
namespace {

constexpr uint64_t kHeapBytes = uint64_t{8} << 20;

struct Heap {
  std::mutex lock;
  std::map<uint64_t, uint64_t> blocks;  // address → bytes
  uint64_t used = 0;
};

Heap& heap() {
  static Heap* const instance = new Heap;
  return *instance;
}

}  // namespace

uint64_t heap_allocate(uint64_t bytes) {
  if (bytes == 0 || bytes > kHeapBytes) return 0;
  Heap& all = heap();
  const std::lock_guard lock(all.lock);
  if (bytes > kHeapBytes - all.used) return 0;
  void* const memory = std::aligned_alloc(16, (bytes + 15) & ~uint64_t{15});
  if (memory == nullptr) return 0;
  all.blocks.emplace(reinterpret_cast<uint64_t>(memory), bytes);
  all.used += bytes;
  return reinterpret_cast<uint64_t>(memory);
}

bool heap_free(uint64_t address) {
  if (address == 0) return true;
  Heap& all = heap();
  const std::lock_guard lock(all.lock);
  const auto at = all.blocks.find(address);
  if (at == all.blocks.end()) return false;
  all.used -= at->second;
  all.blocks.erase(at);
  std::free(reinterpret_cast<void*>(address));
  return true;
}

bool heap_contains(uint64_t address, uint64_t bytes) {
  Heap& all = heap();
  const std::lock_guard lock(all.lock);
  auto at = all.blocks.upper_bound(address);
  if (at == all.blocks.begin()) return false;
  --at;
  return address - at->first <= at->second && bytes <= at->second - (address - at->first);
}

}  // namespace sluice::ptx
