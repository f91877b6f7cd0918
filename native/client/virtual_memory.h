// What the client knows of virtual memory management: reserved addresses, what is mapped at them, and how
// much physical memory can be taken without asking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "client/objects.h"

namespace sluice::client {

struct Reservation {
  CUdeviceptr base = 0;
  size_t bytes = 0;
  Channel* channel = nullptr;
};

struct Mapping {
  CUdeviceptr base = 0;
  size_t bytes = 0;
  PhysicalMemory* memory = nullptr;
  uint64_t id = 0;
  std::map<int, CUmemAccess_flags> access;  // by device; absent means none
};

// Handles, reservations and mappings of the process; the worker follows in the order of the calls.
class VirtualMemory {
 public:
  void reserve(const Reservation& reservation);
  // Takes out the reservation when it is exactly this and nothing is mapped in it.
  std::optional<Reservation> remove_reservation(CUdeviceptr base, size_t bytes);
  // The reservation that holds the whole range.
  std::optional<Reservation> reservation_of(CUdeviceptr base, size_t bytes) const;

  // False when something is mapped in the range already.
  bool map(const Mapping& mapping);
  // The mappings that the range is made of, whole and without a gap; empty when it is not.
  std::vector<Mapping> mappings(CUdeviceptr base, size_t bytes) const;
  std::optional<Mapping> mapping_of(CUdeviceptr address) const;
  void set_access(CUdeviceptr base, int device, CUmemAccess_flags flags);
  // Takes out one mapping. True when nothing holds its memory any more.
  bool unmap(CUdeviceptr base);

  // One reference more; false when the handle is dead: only mappings hold the memory.
  bool retain(PhysicalMemory& memory, bool through_mapping);
  enum class Released { kHeld, kGone, kInvalid };
  Released release(PhysicalMemory& memory);
  bool has_reference(const PhysicalMemory& memory) const;

 private:
  mutable std::mutex mutex_;
  std::map<CUdeviceptr, Reservation> reservations_;
  std::map<CUdeviceptr, Mapping> mappings_;
};

// How much physical memory of a device can be created without asking: half of what was free when it was asked
// last, less all that was taken since by any way. The other half is left to what the client does not see:
// other sessions of the grant, and what the driver itself needs.
class MemoryRoom {
 public:
  // True when `bytes` are in the room. `taken`: MemoryMap::taken().
  bool has(uint64_t bytes, uint64_t taken) const {
    const std::lock_guard lock(mutex_);
    const uint64_t since = taken - taken_then_;
    return since <= bytes_ && bytes <= bytes_ - since;
  }
  void learn(uint64_t free_bytes, uint64_t granularity, uint64_t taken) {
    const std::lock_guard lock(mutex_);
    bytes_ = free_bytes / 2;
    granularity_ = granularity;
    taken_then_ = taken;
  }
  // What sizes are multiples of; 1 until it is known.
  uint64_t granularity() const {
    const std::lock_guard lock(mutex_);
    return granularity_;
  }

 private:
  mutable std::mutex mutex_;
  uint64_t bytes_ = 0;
  uint64_t granularity_ = 1;
  uint64_t taken_then_ = 0;
};

}  // namespace sluice::client
