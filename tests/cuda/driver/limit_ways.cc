// The memory limit, by every way of allocating: what is free can be taken to the last granule, one granule
// more is refused, everything comes back, and the program goes on. NVML tells the same figures.
//
// Round trips: 95.
#include <cstdint>
#include <functional>
#include <vector>

#include "check.h"

using namespace sluice::programs;

namespace {

constexpr size_t kGranularity = 512;

size_t free_now() {
  size_t free_bytes = 0;
  size_t total = 0;
  CHECK(cu.cuMemGetInfo_v2(&free_bytes, &total));
  return free_bytes;
}

// Takes memory by one way. `take` takes that many bytes, `give_back` gives back all that was taken.
void fill(const char* way, size_t granule, const std::function<CUresult(size_t)>& take,
          const std::function<void()>& give_back) {
  const size_t before = free_now();
  const size_t most = before / granule * granule;
  EXPECT(most > 0);
  EXPECT_RESULT(CUDA_ERROR_OUT_OF_MEMORY, take(most + granule));
  EXPECT(free_now() == before);
  CHECK(take(most));
  EXPECT(free_now() == before - most);
  EXPECT_RESULT(CUDA_ERROR_OUT_OF_MEMORY, take(granule));
  give_back();
  CHECK(cu.cuCtxSynchronize());
  EXPECT(free_now() == before);
  // In two halves, with something of another kind in between.
  CHECK(take(most / 2 / granule * granule));
  CUdeviceptr other{};
  CHECK(cu.cuMemAlloc_v2(&other, kGranularity));
  const size_t left = free_now();
  CHECK(take(left / granule * granule));
  EXPECT_RESULT(CUDA_ERROR_OUT_OF_MEMORY, take(granule));
  CHECK(cu.cuMemFree_v2(other));
  give_back();
  CHECK(cu.cuCtxSynchronize());
  EXPECT(free_now() == before);
  say("%s: exact", way);
}

void check_alloc() {
  std::vector<CUdeviceptr> taken;
  const auto give_back = [&] {
    for (const CUdeviceptr memory : taken) CHECK(cu.cuMemFree_v2(memory));
    taken.clear();
  };
  const auto keep = [&](CUresult result, CUdeviceptr memory) {
    if (result == CUDA_SUCCESS) taken.push_back(memory);
    return result;
  };
  fill(
      "cuMemAlloc", kGranularity,
      [&](size_t bytes) {
        CUdeviceptr memory{};
        const CUresult result = cu.cuMemAlloc_v2(&memory, bytes);
        return keep(result, memory);
      },
      give_back);
  fill(
      "cuMemAllocPitch", kGranularity,
      [&](size_t bytes) {
        CUdeviceptr memory{};
        size_t pitch = 0;
        const CUresult result = cu.cuMemAllocPitch_v2(&memory, &pitch, 500, bytes / kGranularity, 4);
        if (result == CUDA_SUCCESS) EXPECT(pitch == kGranularity);
        return keep(result, memory);
      },
      give_back);
}

void check_pools() {
  std::vector<CUdeviceptr> taken;
  CUmemoryPool pool{};
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CHECK(cu.cuMemPoolCreate(&pool, &properties));
  const auto give_back = [&] {
    for (const CUdeviceptr memory : taken) CHECK(cu.cuMemFreeAsync(memory, nullptr));
    taken.clear();
  };
  for (const bool own : {false, true}) {
    fill(
        own ? "cuMemAllocFromPoolAsync" : "cuMemAllocAsync", kGranularity,
        [&](size_t bytes) {
          CUdeviceptr memory{};
          const CUresult result = own ? cu.cuMemAllocFromPoolAsync(&memory, bytes, pool, nullptr)
                                      : CU(cuMemAllocAsync)(&memory, bytes, nullptr);
          if (result == CUDA_SUCCESS) taken.push_back(memory);
          return result;
        },
        give_back);
  }
  CHECK(cu.cuMemPoolDestroy(pool));
}

void check_virtual_memory() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  size_t granularity = 0;
  CHECK(cu.cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  std::vector<CUmemGenericAllocationHandle> taken;
  const auto give_back = [&] {
    for (const CUmemGenericAllocationHandle handle : taken) CHECK(cu.cuMemRelease(handle));
    taken.clear();
  };
  fill(
      "cuMemCreate", granularity,
      [&](size_t bytes) {
        CUmemGenericAllocationHandle handle{};
        const CUresult result = cu.cuMemCreate(&handle, bytes, &properties, 0);
        if (result == CUDA_SUCCESS) taken.push_back(handle);
        return result;
      },
      give_back);
  // One granule at a time, without asking while there is room, to the last one.
  const size_t before = free_now();
  for (size_t i = 0; i < before / granularity; i++) {
    CUmemGenericAllocationHandle handle{};
    CHECK(cu.cuMemCreate(&handle, granularity, &properties, 0));
    taken.push_back(handle);
  }
  CUmemGenericAllocationHandle none{};
  EXPECT_RESULT(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemCreate(&none, granularity, &properties, 0));
  give_back();
  EXPECT(free_now() == before);
  say("cuMemCreate one by one: exact");
}

// NVML's figures are those of the driver.
void check_nvml() {
  struct Memory {
    unsigned long long total, free, used;
  };
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(__FILE__, __LINE__, dlerror());
  const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
  const auto device =
      reinterpret_cast<int (*)(unsigned, void**)>(dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
  const auto memory = reinterpret_cast<int (*)(void*, Memory*)>(dlsym(library, "nvmlDeviceGetMemoryInfo"));
  EXPECT(init != nullptr && device != nullptr && memory != nullptr);
  EXPECT(init() == 0);
  void* handle = nullptr;
  EXPECT(device(0, &handle) == 0);
  CUdeviceptr taken{};
  CHECK(cu.cuMemAlloc_v2(&taken, 8u << 20));
  size_t free_bytes = 0;
  size_t total = 0;
  CHECK(cu.cuMemGetInfo_v2(&free_bytes, &total));
  Memory told{};
  EXPECT(memory(handle, &told) == 0);
  EXPECT(told.total == total);
  EXPECT(told.used == total - free_bytes);
  CHECK(cu.cuMemFree_v2(taken));
  say("NVML: the same total and use");
}

}  // namespace

int main() {
  open_device();
  check_alloc();
  check_pools();
  check_virtual_memory();
  check_nvml();
  // The program lives on.
  CUdeviceptr values{};
  CHECK(cu.cuMemAlloc_v2(&values, 1024));
  CHECK(cu.cuMemsetD32Async(values, 4, 256, nullptr));
  CHECK(launch(find_kernel(load_module(kAddPtx), "add"), 1, 256, nullptr, values, 256u, 3u));
  unsigned value = 0;
  CHECK(cu.cuMemcpyDtoH_v2(&value, values, sizeof value));
  say("and on: %u", value);
}
