#include "client/address_claims.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

namespace sluice::client {
namespace {

// Drivers place allocations of one owner near each other: claiming in large steps keeps spans few. It is
// what a driver hands out at once at least, so that a step never reaches into somebody else's.
constexpr uintptr_t kStep = uintptr_t{2} << 20;

// Whether the pages were free, and are now mapped without access.
bool map_without_access(uintptr_t base, size_t bytes) {
  void* wanted = reinterpret_cast<void*>(base);
  void* got = mmap(wanted, bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == wanted) return true;
  if (got == MAP_FAILED) return errno != EEXIST;
  munmap(got, bytes);  // a kernel before 4.17 takes the address as a hint, and found it in use
  return false;
}

}  // namespace

bool AddressClaims::claim(uintptr_t base, size_t bytes, const void* owner) {
  const uintptr_t begin = base / kStep * kStep;
  const uintptr_t end = (base + bytes + kStep - 1) / kStep * kStep;
  const std::lock_guard lock(mutex_);
  auto next = spans_.upper_bound(begin);
  if (next != spans_.begin() && std::prev(next)->second.end > begin) --next;
  uintptr_t at = begin;
  for (; at < end; ++next) {
    const uintptr_t gap_end = next == spans_.end() ? end : std::min(end, next->first);
    if (gap_end > at) {
      if (!map_without_access(at, gap_end - at)) return false;
      next = spans_.emplace(at, Span{gap_end, owner}).first;
      at = gap_end;
      continue;
    }
    if (next->second.owner != owner) return false;
    at = std::max(at, next->second.end);
  }
  return true;
}

}  // namespace sluice::client
