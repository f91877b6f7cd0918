#include "client/memory_map.h"

#include <mutex>

namespace sluice::client {
namespace {

// The entry of a map by start address whose range holds the address, or end().
template <typename Map, typename Address>
auto holder(const Map& map, Address address) {
  auto after = map.upper_bound(address);
  if (after == map.begin()) return map.end();
  auto at = std::prev(after);
  return address - at->first < at->second.bytes ? at : map.end();
}

}  // namespace

void MemoryMap::add_device(const DeviceRange& range) {
  const std::unique_lock lock(mutex_);
  device_[range.base] = range;
  count_taken(range.bytes);
}

void MemoryMap::add_mapped(CUdeviceptr base, size_t bytes, Context* context, uint64_t id) {
  const std::unique_lock lock(mutex_);
  DeviceRange whole{base, bytes, context, nullptr, id, true};
  const auto joins = [&](const DeviceRange& other) { return other.mapped && other.context == context; };
  auto after = device_.lower_bound(base);
  if (after != device_.end() && after->first == base) return;  // it is there already
  if (after != device_.end() && after->first == base + bytes && joins(after->second)) {
    whole.bytes += after->second.bytes;
    after = device_.erase(after);
  }
  if (after != device_.begin()) {
    DeviceRange& before = std::prev(after)->second;
    if (joins(before) && base < before.base + before.bytes) return;  // inside of it already
    if (joins(before) && before.base + before.bytes == base) {
      before.bytes += whole.bytes;
      return;
    }
  }
  device_[base] = whole;
}

void MemoryMap::remove_mapped(CUdeviceptr base, size_t bytes) {
  const std::unique_lock lock(mutex_);
  const CUdeviceptr end = base + bytes;
  auto at = device_.upper_bound(base);
  if (at != device_.begin()) --at;
  while (at != device_.end() && at->first < end) {
    DeviceRange range = at->second;
    const CUdeviceptr range_end = range.base + range.bytes;
    if (!range.mapped || range_end <= base) {
      ++at;
      continue;
    }
    at = device_.erase(at);
    if (range.base < base) {
      range.bytes = base - range.base;
      device_[range.base] = range;
    }
    if (range_end > end) {
      range.base = end;
      range.bytes = range_end - end;
      at = std::next(device_.insert_or_assign(end, range).first);
    }
  }
}

std::optional<DeviceRange> MemoryMap::remove_device(CUdeviceptr base) {
  const std::unique_lock lock(mutex_);
  const auto at = device_.find(base);
  if (at == device_.end() || at->second.mapped) return std::nullopt;
  const DeviceRange range = at->second;
  device_.erase(at);
  return range;
}

std::optional<DeviceRange> MemoryMap::device_range(CUdeviceptr address) const {
  const std::shared_lock lock(mutex_);
  const auto at = holder(device_, address);
  return at == device_.end() ? std::nullopt : std::optional(at->second);
}

void MemoryMap::remove_context(const Context* context) {
  const std::unique_lock lock(mutex_);
  std::erase_if(device_, [context](const auto& entry) {
    return entry.second.context == context && !entry.second.mapped;
  });
}

bool MemoryMap::add_host(const HostRange& range) {
  const std::unique_lock lock(mutex_);
  const auto next = host_.lower_bound(range.base);
  if (next != host_.end() && next->first - range.base < range.bytes) return false;
  if (holder(host_, range.base) != host_.end()) return false;
  host_[range.base] = range;
  return true;
}

std::optional<HostRange> MemoryMap::remove_host(const void* base, bool registered) {
  const std::unique_lock lock(mutex_);
  const auto at = host_.find(reinterpret_cast<uintptr_t>(base));
  if (at == host_.end() || at->second.registered != registered) return std::nullopt;
  const HostRange range = at->second;
  host_.erase(at);
  return range;
}

std::optional<HostRange> MemoryMap::host_range(const void* address) const {
  const std::shared_lock lock(mutex_);
  const auto at = holder(host_, reinterpret_cast<uintptr_t>(address));
  return at == host_.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace sluice::client
