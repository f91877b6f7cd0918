// Managed memory: written and read by host and kernels in turn, by two streams, by functions on the host
// between kernels, by copies and system calls; what is known and said about it.
//
// Round trips: 320.
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "check.h"

using namespace sluice::programs;

namespace {

constexpr unsigned kCount = 4096;

struct Touch {
  unsigned* values;
  unsigned seen;
};

void touch(void* argument) {
  auto* touch = static_cast<Touch*>(argument);
  touch->seen = touch->values[7];
  touch->values[7] = 1000;
}

void ping_pong(CUfunction add, unsigned* values, CUdeviceptr address) {
  for (unsigned i = 0; i < kCount; i++) values[i] = i;
  for (unsigned round = 0; round < 100; round++) {
    CHECK(launch(add, kCount / 256, 256, nullptr, address, kCount, 3u));
    CHECK(cu.cuCtxSynchronize());
    for (unsigned i = round; i < kCount; i += 97) values[i] += 2;
  }
  CHECK(launch(add, kCount / 256, 256, nullptr, address, kCount, 1u));
  CHECK(cu.cuStreamSynchronize(nullptr));
  for (unsigned i = 0; i < kCount; i++) {
    unsigned expected = i + 301;
    for (unsigned round = 0; round < 100; round++) {
      if (i >= round && (i - round) % 97 == 0) expected += 2;
    }
    EXPECT(values[i] == expected);
  }
  say("host and kernels in turn");
}

void between_kernels(CUfunction add, unsigned* values, CUdeviceptr address) {
  CUstream stream{};
  CHECK(cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
  values[7] = 5;
  Touch seen{values, 0};
  CHECK(launch(add, kCount / 256, 256, stream, address, kCount, 10u));
  CHECK(cu.cuLaunchHostFunc(stream, touch, &seen));
  CHECK(launch(add, kCount / 256, 256, stream, address, kCount, 10u));
  CHECK(cu.cuStreamSynchronize(stream));
  say("a function between kernels saw %u, then %u", seen.seen, values[7]);

  // Freeing other memory waits for the function, which needs this memory.
  CUdeviceptr other{};
  CHECK(cu.cuMemAlloc_v2(&other, 4096));
  CHECK(launch(add, kCount / 256, 256, stream, address, kCount, 10u));
  CHECK(cu.cuLaunchHostFunc(stream, touch, &seen));
  CHECK(cu.cuMemFree_v2(other));
  CHECK(cu.cuStreamSynchronize(stream));
  say("the same while memory is freed: %u, then %u", seen.seen, values[7]);
  CHECK(cu.cuStreamDestroy_v2(stream));
}

void with_system_calls(CUfunction add, unsigned* values, CUdeviceptr address) {
  int ends[2];
  EXPECT(pipe(ends) == 0);
  std::vector<unsigned> sent(1024, 40);
  for (int round = 0; round < 2; round++) {
    EXPECT(write(ends[1], sent.data(), 4096) == 4096);
    EXPECT(read(ends[0], values, 4096) == 4096);
    CHECK(launch(add, 4, 256, nullptr, address, 1024u, 2u));
    CHECK(cu.cuCtxSynchronize());
    EXPECT(write(ends[1], values, 4096) == 4096);
    EXPECT(read(ends[0], sent.data(), 4096) == 4096);
  }
  close(ends[0]);
  close(ends[1]);
  say("system calls read and write it: %u", sent[1000]);
}

void with_copies(unsigned* values, CUdeviceptr address) {
  std::vector<unsigned> other(kCount, 77);
  CHECK(cu.cuMemcpyHtoDAsync_v2(address, other.data(), kCount * 4, nullptr));
  CHECK(cu.cuCtxSynchronize());
  EXPECT(values[kCount - 1] == 77);
  values[3] = 78;
  CUdeviceptr plain{};
  CHECK(cu.cuMemAlloc_v2(&plain, kCount * 4));
  CHECK(cu.cuMemcpyDtoDAsync_v2(plain, address, kCount * 4, nullptr));
  CHECK(cu.cuMemcpyDtoH_v2(other.data(), plain, kCount * 4));
  EXPECT(other[3] == 78 && other[4] == 77);
  CHECK(CU(cuMemsetD32Async)(address, 9, kCount, nullptr));
  CHECK(cu.cuCtxSynchronize());
  EXPECT(values[0] == 9 && values[kCount - 1] == 9);
  CHECK(cu.cuMemcpyDtoH_v2(values, plain, 16));
  EXPECT(values[3] == 78 && values[4] == 9);
  CHECK(cu.cuMemFree_v2(plain));
  say("copies and fills");
}

void two_threads(CUcontext context, CUfunction add) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; t++) {
    threads.emplace_back([=] {
      CHECK(cu.cuCtxSetCurrent(context));
      CUdeviceptr address{};
      CUstream stream{};
      CHECK(cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
      CHECK(cu.cuMemAllocManaged(&address, kCount * 4, CU_MEM_ATTACH_HOST));
      CHECK(CU(cuStreamAttachMemAsync)(stream, address, 0, CU_MEM_ATTACH_SINGLE));
      CHECK(cu.cuStreamSynchronize(stream));
      auto* values = reinterpret_cast<unsigned*>(address);
      for (unsigned i = 0; i < kCount; i++) values[i] = t;
      for (unsigned round = 0; round < 20; round++) {
        CHECK(launch(add, kCount / 256, 256, stream, address, kCount, 1u));
        CHECK(cu.cuStreamSynchronize(stream));
        EXPECT(values[5] == t + 2 * round + 1 && values[kCount - 1] == t + round + 1);
        values[5]++;
      }
      CHECK(cu.cuStreamDestroy_v2(stream));
      CHECK(cu.cuMemFree_v2(address));
    });
  }
  for (std::thread& thread : threads) thread.join();
  say("two threads with streams and memory of their own");
}

void what_is_known(CUdeviceptr address) {
  unsigned managed = 0;
  unsigned type = 0;
  void* host = nullptr;
  CUdeviceptr device{};
  CHECK(cu.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address + 4));
  CHECK(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 4));
  CHECK(cu.cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, address + 4));
  CHECK(cu.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address + 4));
  EXPECT(reinterpret_cast<CUdeviceptr>(host) == address + 4 && device == address + 4);
  say("managed %u, type %u", managed, type);

  int value = 0;
  const CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CHECK(CU(cuMemAdvise_v2)(address, 8192, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
  CHECK(CU(cuMemRangeGetAttribute)(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, address, 8192));
  say("read mostly: %d", value);
  CHECK(CU(cuMemRangeGetAttribute)(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, address, 16384));
  say("of more: %d", value);
  CHECK(CU(cuMemPrefetchAsync)(address, kCount * 4, CU_DEVICE_CPU, nullptr));
  CHECK(CU(cuMemRangeGetAttribute)(&value, 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, address, 64));
  say("last prefetched to: %d", value);
  int devices[2];
  CHECK(CU(cuMemAdvise)(address, 64, CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
  CHECK(CU(cuMemRangeGetAttribute)(devices, 8, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, address, 64));
  say("accessed by: %d %d", devices[0], devices[1]);
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE,
                CU(cuMemRangeGetAttribute)(&value, 3, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, address, 64));
  EXPECT_RESULT(CUDA_ERROR_INVALID_DEVICE, CU(cuMemPrefetchAsync)(address, 64, 99, nullptr));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, CU(cuMemPrefetchAsync)(address, kCount * 4 + 1, 0, nullptr));
  CUdeviceptr addresses[] = {address, address + 4096};
  size_t sizes[] = {4096, 4096};
  CUmemLocation locations[] = {here};
  size_t first[] = {0};
  CHECK(CU(cuMemPrefetchBatchAsync)(addresses, sizes, 2, locations, first, 1, 0, nullptr));
  CHECK(CU(cuMemRangeGetAttribute)(&value, 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, address, 8192));
  say("after the batch: %d", value);
  CUdeviceptr none{};
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMemAllocManaged(&none, 64, 0));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMemAllocManaged(&none, 0, CU_MEM_ATTACH_GLOBAL));
  EXPECT_RESULT(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAllocManaged(&none, size_t{1} << 40, CU_MEM_ATTACH_GLOBAL));
}

}  // namespace

int main() {
  const CUcontext context = open_device();
  const CUfunction add = find_kernel(load_module(kAddPtx), "add");
  CUdeviceptr address{};
  CHECK(cu.cuMemAllocManaged(&address, kCount * 4, CU_MEM_ATTACH_GLOBAL));
  auto* values = reinterpret_cast<unsigned*>(address);
  ping_pong(add, values, address);
  between_kernels(add, values, address);
  with_system_calls(add, values, address);
  with_copies(values, address);
  two_threads(context, add);
  what_is_known(address);
  CHECK(cu.cuMemFree_v2(address));
  EXPECT_RESULT(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(address));
}
