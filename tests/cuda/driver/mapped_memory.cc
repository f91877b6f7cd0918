// Host memory that kernels use: mapped from the start, page-locked, and registered; a flag that the host
// polls.
//
// Round trips: 27.
#include <atomic>
#include <cstdlib>
#include <vector>

#include "check.h"

using namespace sluice::programs;

namespace {

constexpr unsigned kCount = 2048;

void use(CUfunction add, unsigned* values, CUdeviceptr address) {
  for (unsigned i = 0; i < kCount; i++) values[i] = i;
  for (unsigned round = 0; round < 3; round++) {
    CHECK(launch(add, kCount / 256, 256, nullptr, address, kCount, 5u));
    CHECK(cu.cuCtxSynchronize());
    values[100] += 1;
  }
  EXPECT(values[99] == 99 + 15 && values[100] == 100 + 18);
}

}  // namespace

int main() {
  open_device();
  int can_map = 0;
  CHECK(cu.cuDeviceGetAttribute(&can_map, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 0));
  EXPECT(can_map == 1);
  const CUfunction add = find_kernel(load_module(kAddPtx), "add");

  void* memory = nullptr;
  CUdeviceptr device{};
  unsigned flags = 0;
  CHECK(cu.cuMemHostAlloc(&memory, kCount * 4, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
  CHECK(CU(cuMemHostGetDevicePointer_v2)(&device, memory, 0));
  CHECK(CU(cuMemHostGetFlags)(&flags, memory));
  EXPECT(device == reinterpret_cast<CUdeviceptr>(memory));
  use(add, static_cast<unsigned*>(memory), device);
  unsigned type = 0;
  CUdeviceptr told{};
  CHECK(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device));
  CHECK(cu.cuPointerGetAttribute(&told, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, device + 8));
  EXPECT(told == device + 8);
  say("mapped memory, flags %u, type %u", flags, type);

  // Nothing waits for the kernel but a look at the memory itself.
  auto* values = static_cast<std::atomic<unsigned>*>(memory);
  const unsigned before = values[0].load();
  CHECK(launch(add, kCount / 256, 256, nullptr, device, kCount, 1u));
  while (values[0].load() == before) {
  }
  say("a flag that a kernel set was seen");
  CHECK(cu.cuCtxSynchronize());
  CHECK(cu.cuMemFreeHost(memory));

  CHECK(cu.cuMemHostAlloc(&memory, kCount * 4, 0));
  CHECK(CU(cuMemHostGetDevicePointer_v2)(&device, memory, 0));
  use(add, static_cast<unsigned*>(memory), device);
  CHECK(cu.cuMemFreeHost(memory));
  say("page-locked memory");

  std::vector<unsigned> own(kCount + 1);
  unsigned* const inside = own.data() + 1;
  CHECK(CU(cuMemHostRegister_v2)(inside, kCount * 4, CU_MEMHOSTREGISTER_DEVICEMAP));
  CHECK(CU(cuMemHostGetDevicePointer_v2)(&device, inside + 16, 0));
  use(add, inside, device - 64);
  CHECK(CU(cuMemHostUnregister)(inside));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, CU(cuMemHostGetDevicePointer_v2)(&device, inside, 0));
  say("registered memory");
}
