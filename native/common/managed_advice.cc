#include "common/managed_advice.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace sluice {
namespace {

bool same(const CUmemLocation& a, const CUmemLocation& b) { return a.type == b.type && a.id == b.id; }

bool is_host(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_HOST || location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

// The device that stands for a location in the attributes of before CUDA 12.2.
int device_of(const CUmemLocation& location) {
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) return location.id;
  return is_host(location) ? CU_DEVICE_CPU : CU_DEVICE_INVALID_ID;
}

CUresult give(void* data, size_t data_bytes, int value) {
  if (data_bytes != sizeof value) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

}  // namespace

void ManagedAdvice::cut(CUdeviceptr at) {
  auto after = pieces_.upper_bound(at);
  if (after == pieces_.begin()) return;
  --after;
  if (after->first == at || after->second.end <= at) return;
  const Piece rest = after->second;
  after->second.end = at;
  pieces_.emplace(at, rest);
}

template <typename Change>
void ManagedAdvice::change(CUdeviceptr begin, size_t bytes, const Change& change) {
  const CUdeviceptr end = begin + bytes;
  const std::lock_guard lock(mutex_);
  cut(begin);
  cut(end);
  CUdeviceptr at = begin;
  for (auto next = pieces_.lower_bound(begin); at < end; ++next) {
    if (next == pieces_.end() || next->first > at) {
      const CUdeviceptr gap_end = next == pieces_.end() ? end : std::min(end, next->first);
      next = pieces_.emplace(at, Piece{gap_end, {}}).first;
    }
    change(next->second.said);
    at = next->second.end;
  }
}

CUresult ManagedAdvice::advise(CUdeviceptr begin, size_t bytes, CUmem_advise advice, CUmemLocation location,
                               int devices) {
  const bool at_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  const bool located = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
                       advice == CU_MEM_ADVISE_SET_ACCESSED_BY || advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
  if (located && !is_host(location) && !at_device) return CUDA_ERROR_INVALID_VALUE;
  if (located && at_device && (location.id < 0 || location.id >= devices)) return CUDA_ERROR_INVALID_DEVICE;
  switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
      change(begin, bytes, [&](Said& said) { said.read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY; });
      return CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
      change(begin, bytes, [&](Said& said) { said.preferred = location; });
      return CUDA_SUCCESS;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
      change(begin, bytes, [&](Said& said) { said.preferred = kNowhere; });
      return CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY: {
      const bool set = advice == CU_MEM_ADVISE_SET_ACCESSED_BY;
      change(begin, bytes, [&](Said& said) {
        const uint64_t bit = at_device ? uint64_t{1} << (location.id % 64) : 0;
        said.accessed_by = set ? said.accessed_by | bit : said.accessed_by & ~bit;
        if (!at_device) said.accessed_by_host = set;
      });
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_INVALID_VALUE;
}

void ManagedAdvice::prefetched(CUdeviceptr begin, size_t bytes, CUmemLocation location) {
  change(begin, bytes, [&](Said& said) { said.prefetched_to = location; });
}

void ManagedAdvice::forget(CUdeviceptr begin, size_t bytes) {
  const std::lock_guard lock(mutex_);
  cut(begin);
  cut(begin + bytes);
  pieces_.erase(pieces_.lower_bound(begin), pieces_.lower_bound(begin + bytes));
}

CUresult ManagedAdvice::attribute(void* data, size_t data_bytes, CUmem_range_attribute attribute,
                                  CUdeviceptr begin, size_t bytes) const {
  const CUdeviceptr end = begin + bytes;
  const std::lock_guard lock(mutex_);
  // What holds for every page of the range; nothing is said of pages in no piece.
  Said all;
  bool first = true;
  CUdeviceptr at = begin;
  auto next = pieces_.upper_bound(begin);
  if (next != pieces_.begin() && std::prev(next)->second.end > begin) --next;
  while (at < end) {
    const bool known = next != pieces_.end() && next->first <= at;
    const Said said = known ? next->second.said : Said{};
    if (first) {
      all = said;
      first = false;
    } else {
      all.read_mostly = all.read_mostly && said.read_mostly;
      if (!same(all.preferred, said.preferred)) all.preferred = kNowhere;
      if (!same(all.prefetched_to, said.prefetched_to)) all.prefetched_to = kNowhere;
      all.accessed_by &= said.accessed_by;
      all.accessed_by_host = all.accessed_by_host && said.accessed_by_host;
    }
    if (known) {
      at = (next++)->second.end;
    } else {
      at = next == pieces_.end() ? end : std::min(end, next->first);
    }
  }
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      return give(data, data_bytes, all.read_mostly ? 1 : 0);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      return give(data, data_bytes, device_of(all.preferred));
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      return give(data, data_bytes, device_of(all.prefetched_to));
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      return give(data, data_bytes, all.preferred.type);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
      return give(data, data_bytes, all.preferred.id);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      return give(data, data_bytes, all.prefetched_to.type);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      return give(data, data_bytes, all.prefetched_to.id);
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (data_bytes == 0 || data_bytes % sizeof(int) != 0) return CUDA_ERROR_INVALID_VALUE;
  std::vector<int> devices(data_bytes / sizeof(int), CU_DEVICE_INVALID_ID);
  size_t count = 0;
  if (all.accessed_by_host) devices[count++] = CU_DEVICE_CPU;
  for (int device = 0; device < 64 && count < devices.size(); device++) {
    if ((all.accessed_by >> device & 1) != 0) devices[count++] = device;
  }
  std::memcpy(data, devices.data(), data_bytes);
  return CUDA_SUCCESS;
}

}  // namespace sluice
