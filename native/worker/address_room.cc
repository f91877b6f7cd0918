#include "worker/address_room.h"

#include <sys/mman.h>

#include <algorithm>

namespace sluice::worker {
namespace {

constexpr uint64_t kTiB = uint64_t{1} << 40;
// Program and libraries of a client lie in the uppermost TiB, what it maps right below; see mmap_base in
// Linux' arch/x86/mm/mmap.c. Each place gets as much as no GPU of today fills.
constexpr uint64_t kTopPart = 2 * kTiB;
// Where the software GPU begins, and what eight of its devices take.
constexpr uint64_t kUpwards = 32 * kTiB;
constexpr uint64_t kUpwardsPart = 16 * kTiB;

// Best effort: where the system refuses (ulimit -v), or something is there, nothing is lost.
void occupy(void* where, uint64_t bytes, int flags) {
  void* got = mmap(where, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  if (got != MAP_FAILED) madvise(got, bytes, MADV_DONTDUMP);
}

}  // namespace

void leave_addresses_to_others(uint64_t place) {
  place = std::min(place, kMaxAddressPlaces - 1);
  occupy(nullptr, (place + 1) * kTopPart, 0);
  if (place > 0) {
    occupy(reinterpret_cast<void*>(kUpwards), place * kUpwardsPart, MAP_FIXED_NOREPLACE);
  }
}

}  // namespace sluice::worker
