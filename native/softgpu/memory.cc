#include "softgpu/memory.h"

#include <sys/mman.h>

#include "softgpu/context.h"
#include "softgpu/device.h"
#include "softgpu/pool.h"

namespace sluice::softgpu {

std::optional<Allocation> MemoryRegistry::find(uint64_t address) const {
  const std::shared_lock lock(mutex_);
  auto at = ranges_.upper_bound(address);
  if (at == ranges_.begin()) return std::nullopt;
  --at;
  if (address >= at->second.end()) return std::nullopt;
  return at->second;
}

void MemoryRegistry::add(Allocation allocation) {
  const std::unique_lock lock(mutex_);
  allocation.id = next_id_++;
  ranges_[allocation.begin] = allocation;
}

bool MemoryRegistry::is_unknown(uint64_t begin, uint64_t bytes) const {
  const std::shared_lock lock(mutex_);
  const auto next = ranges_.lower_bound(begin);
  if (next != ranges_.end() && next->first < begin + bytes) return false;
  return next == ranges_.begin() || std::prev(next)->second.end() <= begin;
}

std::optional<Allocation> MemoryRegistry::remove(uint64_t begin) {
  const std::unique_lock lock(mutex_);
  const auto at = ranges_.find(begin);
  if (at == ranges_.end()) return std::nullopt;
  const Allocation removed = at->second;
  ranges_.erase(at);
  epoch_.fetch_add(1, std::memory_order_release);
  return removed;
}

std::vector<Allocation> MemoryRegistry::mapped(uint64_t begin, uint64_t bytes) const {
  std::vector<Allocation> found;
  const std::shared_lock lock(mutex_);
  uint64_t at = begin;
  const uint64_t end = begin + bytes;
  for (auto next = ranges_.find(begin); at < end; ++next) {
    if (next == ranges_.end() || next->first != at || next->second.kind != MemoryKind::kMapped) return {};
    found.push_back(next->second);
    at = next->second.end();
  }
  return at == end ? found : std::vector<Allocation>{};
}

void MemoryRegistry::set_access(uint64_t begin, uint32_t access) {
  const std::unique_lock lock(mutex_);
  const auto at = ranges_.find(begin);
  if (at == ranges_.end()) return;
  at->second.access = access;
  epoch_.fetch_add(1, std::memory_order_release);
}

std::pair<uint64_t, uint64_t> MemoryRegistry::span(
    uint64_t address, const std::function<bool(const Allocation&)>& usable) const {
  const std::shared_lock lock(mutex_);
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return {0, 0};
  auto first = std::prev(after);
  if (address >= first->second.end() || !usable(first->second)) return {0, 0};
  uint64_t end = first->second.end();
  if (first->second.kind != MemoryKind::kMapped) return {first->first, end};
  const auto goes_on = [&](const Allocation& neighbour) {
    return neighbour.kind == MemoryKind::kMapped && usable(neighbour);
  };
  for (; after != ranges_.end() && after->first == end && goes_on(after->second); ++after) {
    end = after->second.end();
  }
  while (first != ranges_.begin()) {
    const auto before = std::prev(first);
    if (before->second.end() != first->first || !goes_on(before->second)) break;
    first = before;
  }
  return {first->first, end};
}

std::vector<Allocation> MemoryRegistry::remove_all(const Context* context) {
  std::vector<Allocation> removed;
  const std::unique_lock lock(mutex_);
  for (auto at = ranges_.begin(); at != ranges_.end();) {
    if (at->second.context == context) {
      removed.push_back(at->second);
      at = ranges_.erase(at);
    } else {
      ++at;
    }
  }
  epoch_.fetch_add(1, std::memory_order_release);
  return removed;
}

void MemoryRegistry::forget_pool(const Pool* pool) {
  const std::unique_lock lock(mutex_);
  for (auto& [begin, allocation] : ranges_) {
    if (allocation.pool == pool) allocation.pool = nullptr;
  }
}

MemoryRegistry& memory_registry() {
  static auto* instance = new MemoryRegistry;
  return *instance;
}

CUresult allocate_device(Context& context, uint64_t bytes, MemoryKind kind, unsigned flags, Pool* pool,
                         bool is_module_variable, uint64_t* address) {
  Device& device = context.device;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > device.config.memory_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  const uint64_t granularity = kind == MemoryKind::kManaged ? kManagedGranularity : kAllocationGranularity;
  const uint64_t reserved = round_up(bytes, granularity);
  SharedState& shared = *driver()->shared;
  if (!shared.reserve(device.index, reserved, device.config.memory_bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const uint64_t begin = device.window.allocate(reserved, granularity);
  if (begin == 0) {
    shared.release(device.index, reserved);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  Allocation allocation;
  allocation.begin = begin;
  allocation.bytes = bytes;
  allocation.reserved = reserved;
  allocation.kind = kind;
  allocation.context = &context;
  allocation.device = device.index;
  allocation.flags = flags;
  allocation.pool = pool;
  allocation.is_module_variable = is_module_variable;
  memory_registry().add(allocation);
  if (pool != nullptr) pool->count(static_cast<int64_t>(reserved));
  *address = begin;
  return CUDA_SUCCESS;
}

void dispose(const Allocation& allocation) {
  switch (allocation.kind) {
    case MemoryKind::kDevice:
    case MemoryKind::kPool:
    case MemoryKind::kManaged:
    case MemoryKind::kArray:
      if (allocation.pool != nullptr) allocation.pool->count(-static_cast<int64_t>(allocation.reserved));
      driver()->device(allocation.device)->window.release(allocation.begin, allocation.reserved);
      driver()->shared->release(allocation.device, allocation.reserved);
      break;
    case MemoryKind::kHost:
      munmap(reinterpret_cast<void*>(allocation.begin), allocation.reserved);
      break;
    case MemoryKind::kRegistered:
      break;  // the caller's own
    case MemoryKind::kMapped:
      break;  // cuMemUnmap's to undo
  }
}

CUresult check_range(const Context& context, uint64_t address, uint64_t bytes) {
  const auto [begin, end] =
      memory_registry().span(address, [&](const Allocation& found) { return context.accessible(found); });
  return end != 0 && bytes <= end - address ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace sluice::softgpu
