// What an allocator with growing segments does: 1,500 pieces of memory created, mapped and opened one by one,
// used as one range, and taken apart again. Creates and maps wait for nothing.
//
// Round trips: 9.
#include <vector>

#include "check.h"

using namespace sluice::programs;

int main() {
  open_device();
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  size_t granularity = 0;
  CHECK(cu.cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  // Half of a 2 GiB device in pieces of 2 MiB, three times.
  constexpr size_t kPieces = 500;
  const CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUdeviceptr base{};
  CHECK(cu.cuMemAddressReserve(&base, kPieces * granularity, 0, 0, 0));
  for (unsigned round = 0; round < 3; round++) {
    std::vector<CUmemGenericAllocationHandle> handles(kPieces);
    for (size_t i = 0; i < kPieces; i++) {
      const CUdeviceptr at = base + i * granularity;
      CHECK(cu.cuMemCreate(&handles[i], granularity, &properties, 0));
      CHECK(cu.cuMemMap(at, granularity, 0, handles[i], 0));
      CHECK(cu.cuMemSetAccess(at, granularity, &access, 1));
    }
    // One write over a seam, read back from both sides of it.
    const CUdeviceptr seam = base + (kPieces / 2) * granularity - 4;
    CHECK(cu.cuMemsetD32Async(seam, round + 41, 2, nullptr));
    unsigned values[2]{};
    CHECK(cu.cuMemcpyDtoH_v2(values, seam, sizeof values));
    say("round %u: %u %u", round, values[0], values[1]);
    CHECK(cu.cuMemUnmap(base, kPieces * granularity));
    for (const CUmemGenericAllocationHandle handle : handles) CHECK(cu.cuMemRelease(handle));
  }
  CHECK(cu.cuMemAddressFree(base, kPieces * granularity));
  CHECK(cu.cuCtxSynchronize());
}
