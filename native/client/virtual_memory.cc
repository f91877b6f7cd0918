#include "client/virtual_memory.h"

#include <iterator>

namespace sluice::client {
namespace {

// The entry of a map by start address that holds the address, or end().
template <typename Map>
auto holder(Map& map, CUdeviceptr address) {
  auto after = map.upper_bound(address);
  if (after == map.begin()) return map.end();
  const auto at = std::prev(after);
  return address - at->first < at->second.bytes ? at : map.end();
}

// Whether an entry begins or goes on in the range.
template <typename Map>
bool touches(Map& map, CUdeviceptr base, size_t bytes) {
  const auto next = map.lower_bound(base);
  return (next != map.end() && next->first - base < bytes) || holder(map, base) != map.end();
}

}  // namespace

void VirtualMemory::reserve(const Reservation& reservation) {
  const std::lock_guard lock(mutex_);
  reservations_[reservation.base] = reservation;
}

std::optional<Reservation> VirtualMemory::remove_reservation(CUdeviceptr base, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto at = reservations_.find(base);
  if (at == reservations_.end() || at->second.bytes != bytes || touches(mappings_, base, bytes)) return {};
  const Reservation removed = at->second;
  reservations_.erase(at);
  return removed;
}

std::optional<Reservation> VirtualMemory::reservation_of(CUdeviceptr base, size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto at = holder(reservations_, base);
  if (at == reservations_.end() || bytes > at->second.base + at->second.bytes - base) return {};
  return at->second;
}

bool VirtualMemory::map(const Mapping& mapping) {
  const std::lock_guard lock(mutex_);
  if (touches(mappings_, mapping.base, mapping.bytes)) return false;
  mappings_[mapping.base] = mapping;
  mapping.memory->mappings++;
  return true;
}

std::vector<Mapping> VirtualMemory::mappings(CUdeviceptr base, size_t bytes) const {
  std::vector<Mapping> found;
  const std::lock_guard lock(mutex_);
  size_t covered = 0;
  for (auto at = mappings_.find(base); covered < bytes; ++at) {
    if (at == mappings_.end() || at->first != base + covered) return {};
    covered += at->second.bytes;
    found.push_back(at->second);
  }
  return covered == bytes ? found : std::vector<Mapping>{};
}

std::optional<Mapping> VirtualMemory::mapping_of(CUdeviceptr address) const {
  const std::lock_guard lock(mutex_);
  const auto at = holder(mappings_, address);
  return at == mappings_.end() ? std::nullopt : std::optional(at->second);
}

void VirtualMemory::set_access(CUdeviceptr base, int device, CUmemAccess_flags flags) {
  const std::lock_guard lock(mutex_);
  const auto at = mappings_.find(base);
  if (at == mappings_.end()) return;
  if (flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
    at->second.access.erase(device);
  } else {
    at->second.access[device] = flags;
  }
}

bool VirtualMemory::unmap(CUdeviceptr base) {
  const std::lock_guard lock(mutex_);
  const auto at = mappings_.find(base);
  if (at == mappings_.end()) return false;
  PhysicalMemory& memory = *at->second.memory;
  mappings_.erase(at);
  return --memory.mappings == 0 && memory.references == 0;
}

bool VirtualMemory::retain(PhysicalMemory& memory, bool through_mapping) {
  const std::lock_guard lock(mutex_);
  if (memory.references == 0 && !(through_mapping && memory.mappings > 0)) return false;
  memory.references++;
  return true;
}

VirtualMemory::Released VirtualMemory::release(PhysicalMemory& memory) {
  const std::lock_guard lock(mutex_);
  if (memory.references == 0) return Released::kInvalid;
  return --memory.references == 0 && memory.mappings == 0 ? Released::kGone : Released::kHeld;
}

bool VirtualMemory::has_reference(const PhysicalMemory& memory) const {
  const std::lock_guard lock(mutex_);
  return memory.references > 0;
}

}  // namespace sluice::client
