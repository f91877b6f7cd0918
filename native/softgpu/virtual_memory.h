// Virtual memory management: physical memory of a device, addresses reserved for it, and what is mapped
// where. Physical memory is a range of a file without a name, so that it can be seen at several addresses at
// once.
#pragma once

#include <cstdint>

#include "common/cuda_types.h"

namespace sluice::softgpu {

// Sizes, offsets and addresses are multiples of this, as on real devices.
constexpr uint64_t kMappingGranularity = uint64_t{2} << 20;

struct Reservation {
  uint64_t begin = 0;
  uint64_t bytes = 0;
  int device = 0;  // whose window the addresses are from
};

// The reservation that holds the address; of no bytes when there is none.
Reservation reservation_of(uint64_t address);

CUresult reserve_addresses(uint64_t bytes, uint64_t alignment, uint64_t wanted, uint64_t* address);
// The whole of a reservation in which nothing is mapped any more.
CUresult free_addresses(uint64_t address, uint64_t bytes);

// Physical memory is accounted from its creation until nothing maps it and no handle holds it.
CUresult create_physical(const CUmemAllocationProp& properties, uint64_t bytes,
                         CUmemGenericAllocationHandle* handle);
CUresult release_physical(CUmemGenericAllocationHandle handle);
CUresult physical_properties(CUmemGenericAllocationHandle handle, CUmemAllocationProp* properties);
// One more reference to what is mapped at the address.
CUresult retain_physical(uint64_t address, CUmemGenericAllocationHandle* handle);

CUresult map_physical(uint64_t address, uint64_t bytes, uint64_t offset, CUmemGenericAllocationHandle handle);
// Whole mappings; waits for the work of all devices that may use them.
CUresult unmap(uint64_t address, uint64_t bytes);
CUresult set_access(uint64_t address, uint64_t bytes, const CUmemAccessDesc* descriptions, size_t count);
CUresult get_access(uint64_t address, const CUmemLocation& location, unsigned long long* flags);

}  // namespace sluice::softgpu
