// Physical memory, reserved addresses and mappings of a session.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "common/cuda_types.h"

namespace sluice::worker {

class MemoryAccounting;

// Physical memory as it is counted: given back to the grant when neither a handle nor a mapping holds it.
struct PhysicalMemory {
  PhysicalMemory(MemoryAccounting& accounting, size_t device, uint64_t size)
      : memory(accounting), ordinal(device), bytes(size) {}
  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;

  MemoryAccounting& memory;
  const size_t ordinal;
  const uint64_t bytes;
  CUmemGenericAllocationHandle handle = 0;
};

// Used by the leading thread only.
struct VirtualMemory {
  struct Mapping {
    uint64_t bytes = 0;
    std::shared_ptr<PhysicalMemory> memory;
  };
  std::map<uint32_t, std::shared_ptr<PhysicalMemory>> physical;  // by the client's index
  std::map<CUdeviceptr, uint64_t> reservations;                  // bytes by address
  std::map<CUdeviceptr, Mapping> mappings;                       // by address
};

}  // namespace sluice::worker
