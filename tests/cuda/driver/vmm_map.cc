// Virtual memory management: reserve, create, map, give access, use, look at, take apart; and what is
// refused.
//
// Round trips: 13.
#include <vector>

#include "check.h"

using namespace sluice::programs;

namespace {

CUmemAllocationProp properties_of(CUdevice device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return properties;
}

unsigned first_value(CUdeviceptr address) {
  unsigned value = 0;
  CHECK(cu.cuMemcpyDtoH_v2(&value, address, sizeof value));
  return value;
}

}  // namespace

int main() {
  open_device();
  int supported = 0;
  CHECK(cu.cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
  EXPECT(supported == 1);

  const CUmemAllocationProp properties = properties_of(0);
  size_t granularity = 0;
  CHECK(cu.cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  EXPECT(granularity > 0 && (granularity & (granularity - 1)) == 0);

  // Two pieces of physical memory behind each other, used as one.
  const size_t piece = 2 * granularity;
  CUdeviceptr base{};
  CHECK(cu.cuMemAddressReserve(&base, 8 * granularity, 0, 0, 0));
  EXPECT(base % granularity == 0);
  CUmemGenericAllocationHandle handles[2]{};
  CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  for (int i = 0; i < 2; i++) {
    CHECK(cu.cuMemCreate(&handles[i], piece, &properties, 0));
    CHECK(cu.cuMemMap(base + static_cast<size_t>(i) * piece, piece, 0, handles[i], 0));
  }
  unsigned long long flags = 99;
  CHECK(cu.cuMemGetAccess(&flags, &access.location, base));
  say("access before: %llu", flags);
  CHECK(cu.cuMemSetAccess(base, 2 * piece, &access, 1));
  CHECK(cu.cuMemGetAccess(&flags, &access.location, base + piece));
  say("access after: %llu", flags);

  const auto count = static_cast<unsigned>(2 * piece / sizeof(unsigned));
  CHECK(cu.cuMemsetD32Async(base, 5, count, nullptr));
  const CUmodule module = load_module(kAddPtx);
  const CUfunction add = find_kernel(module, "add");
  CHECK(launch(add, count / 256, 256, nullptr, base, count, 7u));
  std::vector<unsigned> back(count);
  CHECK(cu.cuMemcpyDtoH_v2(back.data(), base, count * sizeof(unsigned)));
  for (const unsigned value : back) EXPECT(value == 12);
  say("a kernel and copies across two pieces");

  // What is known about the addresses.
  CUdeviceptr start{};
  size_t bytes = 0;
  const CUdeviceptr inside = base + piece + 64;
  CHECK(cu.cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside));
  CHECK(cu.cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside));
  EXPECT(start == base && bytes == 8 * granularity);
  CHECK(cu.cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, inside));
  CHECK(cu.cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, inside));
  EXPECT(start == base + piece && bytes == piece);
  CHECK(cu.cuMemGetAddressRange_v2(&start, &bytes, inside));
  EXPECT(start == base + piece && bytes == piece);
  unsigned type = 0;
  int ordinal = -1;
  CUcontext context = reinterpret_cast<CUcontext>(1);
  CHECK(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside));
  CHECK(cu.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, inside));
  CHECK(cu.cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, inside));
  EXPECT(type == CU_MEMORYTYPE_DEVICE && ordinal == 0 && context == nullptr);

  // The same memory at a second place; a handle found again through an address.
  CUmemGenericAllocationHandle again{};
  CHECK(cu.cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(inside)));
  EXPECT(again == handles[1]);
  CUmemAllocationProp told{};
  CHECK(cu.cuMemGetAllocationPropertiesFromHandle(&told, again));
  EXPECT(told.type == properties.type && told.location.id == 0);
  const CUdeviceptr second = base + 6 * granularity;
  CHECK(cu.cuMemMap(second, piece, 0, again, 0));
  CHECK(cu.cuMemSetAccess(second, piece, &access, 1));
  CHECK(cu.cuMemsetD32Async(second, 77, 1, nullptr));
  say("one memory at two addresses: %u", first_value(base + piece));
  CHECK(cu.cuMemRelease(again));

  // Handles may go before the mappings; the memory stays while something maps it.
  CHECK(cu.cuMemRelease(handles[0]));
  CHECK(cu.cuMemRelease(handles[1]));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMemRelease(handles[1]));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMemMap(base + 2 * piece, piece, 0, handles[1], 0));
  say("still there: %u", first_value(base + piece));
  size_t free_before = 0;
  size_t free_after = 0;
  size_t total = 0;
  CHECK(cu.cuMemGetInfo_v2(&free_before, &total));
  CHECK(cu.cuMemUnmap(base, 2 * piece));
  CHECK(cu.cuMemGetInfo_v2(&free_after, &total));
  say("given back by the first unmap: %zu pieces", (free_after - free_before) / piece);
  say("seen from the other place: %u", first_value(second));
  CHECK(cu.cuMemUnmap(second, piece));
  CHECK(cu.cuMemGetInfo_v2(&free_after, &total));
  say("given back in the end: %zu pieces", (free_after - free_before) / piece);
  unsigned value = 0;
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyDtoH_v2(&value, base, sizeof value));

  // What is refused.
  CUmemGenericAllocationHandle handle{};
  CHECK(cu.cuMemCreate(&handle, piece, &properties, 0));
  CUmemGenericAllocationHandle none{};
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMemCreate(&none, granularity + 1, &properties, 0));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMemCreate(&none, 0, &properties, 0));
  CUmemAllocationProp wrong = properties;
  wrong.location.id = 99;
  EXPECT_RESULT(CUDA_ERROR_INVALID_DEVICE, cu.cuMemCreate(&none, piece, &wrong, 0));
  wrong = properties;
  wrong.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  EXPECT_RESULT(CUDA_ERROR_NOT_SUPPORTED, cu.cuMemCreate(&none, piece, &wrong, 0));
  wrong = properties;
  wrong.location.type = CU_MEM_LOCATION_TYPE_HOST;
  EXPECT_RESULT(CUDA_ERROR_NOT_SUPPORTED, cu.cuMemCreate(&none, piece, &wrong, 0));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMemMap(base + 7 * granularity, piece, 0, handle, 0));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMemMap(base, piece, granularity, handle, 0));
  CHECK(cu.cuMemMap(base, piece, 0, handle, 0));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMemMap(base + granularity, granularity, 0, handle, 0));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyDtoH_v2(&value, base, sizeof value));  // no access
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMemSetAccess(base, granularity, &access, 1));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMemUnmap(base, granularity));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(base));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMemAddressFree(base, 8 * granularity));
  CHECK(cu.cuMemUnmap(base, piece));
  CHECK(cu.cuMemRelease(handle));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMemAddressFree(base, piece));
  CHECK(cu.cuMemAddressFree(base, 8 * granularity));
  CHECK(cu.cuCtxSynchronize());
  say("refused what cannot be");
}
