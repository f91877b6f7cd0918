// How lanes reach memory one by one. Families have fast paths for whole warps in front of it.
#pragma once

#include <cstdint>

#include "softgpu/ptx/exec/launch.h"

namespace sluice::ptx {

enum class MemorySpace : uint8_t { kGeneric, kGlobal, kShared, kLocal, kParam };

const char* space_name(MemorySpace space);

// Whether [address, address + bytes) is live device memory; fills the thread's cache entry.
bool find_range(Thread& thread, uint64_t address, uint64_t bytes, uint8_t cache);

inline bool in_range(const CachedRange& range, uint64_t address, uint64_t bytes) {
  return address >= range.begin && address <= range.end && bytes <= range.end - address;
}

// Byte k of a lane's local memory is word k / 4 of an array interleaved by lane, so that lanes which
// touch the same offset touch one row.
inline char* local_word(char* local, uint32_t lane, uint64_t offset) {
  return local + (offset / 4 * kLanes + lane) * 4 + offset % 4;
}

// Moves `bytes` (1, 2, 4, 8, 16 or 32) between `data` and one lane's memory. On a fault records it and
// returns false.
bool load_lane(Warp& warp, const Inst* in, MemorySpace space, uint32_t lane, uint64_t address, void* data,
               uint32_t bytes);
bool store_lane(Warp& warp, const Inst* in, MemorySpace space, uint32_t lane, uint64_t address,
                const void* data, uint32_t bytes);

// Where an atomic operation works: host memory of a global or shared address, nullptr after a fault.
char* atomic_target(Warp& warp, const Inst* in, MemorySpace space, uint64_t address, uint32_t bytes);

// Reads a string or bytes at a generic address, for printf and assert. False where it is not readable.
bool read_generic(Warp& warp, const Inst* in, uint32_t lane, uint64_t address, void* data, uint64_t bytes);

}  // namespace sluice::ptx
