#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "driver_fixture.h"

namespace {

class MemoryTest : public DriverTest {};

TEST_F(MemoryTest, AccountingIsExactInSteps) {
  const size_t before = free_bytes();
  const CUdeviceptr a = allocate(1), b = allocate(513), c = allocate(3 << 20);
  EXPECT_GE(a, 0x200000000000u);
  EXPECT_EQ(free_bytes(), before - 512 - 1024 - (3 << 20));
  CUdeviceptr begin = 0;
  size_t bytes = 0;
  EXPECT_OK(cuMemGetAddressRange_v2(&begin, &bytes, b + 512));
  EXPECT_EQ(begin, b);
  EXPECT_EQ(bytes, 513u);
  EXPECT_EQ(cuMemGetAddressRange_v2(&begin, &bytes, b + 513), CUDA_ERROR_NOT_FOUND);
  for (const CUdeviceptr address : {a, b, c}) EXPECT_OK(cuMemFree_v2(address));
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuMemFree_v2(0));  // what cudaFree(nullptr) becomes
}

TEST_F(MemoryTest, OutOfMemory) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc_v2(&address, size_t{2} << 30), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc_v2(&address, ~size_t{0}), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc_v2(&address, 0), CUDA_ERROR_INVALID_VALUE);
  const size_t free = free_bytes();
  const CUdeviceptr all = allocate(free);  // costs nothing until it is touched
  EXPECT_EQ(cuMemAlloc_v2(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_OK(cuMemFree_v2(all));
  EXPECT_OK(cuMemAlloc_v2(&address, 1));
  EXPECT_OK(cuMemFree_v2(address));
}

// Another process sees this one's use, is refused beyond what is left, and gives all back when it is killed.
TEST_F(MemoryTest, SharedBetweenProcesses) {
  const size_t before = free_bytes();
  const CUdeviceptr mine = allocate(256 << 20);
  int ready[2], resume[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(resume), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ready[1], 10);
    dup2(resume[0], 11);
    execl("/proc/self/exe", "memory_test", "--child", nullptr);
    _exit(2);
  }
  size_t seen = 0;
  ASSERT_EQ(::read(ready[0], &seen, sizeof(seen)), static_cast<ssize_t>(sizeof(seen)));
  EXPECT_EQ(seen, before - (256 << 20));
  EXPECT_EQ(free_bytes(), before - (256 << 20) - (100 << 20));
  CUdeviceptr more = 0;
  EXPECT_EQ(cuMemAlloc_v2(&more, before - (300 << 20)), CUDA_ERROR_OUT_OF_MEMORY);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(free_bytes(), before - (256 << 20));
  EXPECT_OK(cuMemAlloc_v2(&more, before - (300 << 20)));
  EXPECT_OK(cuMemFree_v2(more));
  EXPECT_OK(cuMemFree_v2(mine));
  for (const int fd : {ready[0], ready[1], resume[0], resume[1]}) close(fd);
}

// Killed at any moment, inside the shared lock too, a process leaves nothing behind and nobody waiting.
TEST_F(MemoryTest, KilledProcessesGiveEverythingBack) {
  const size_t before = free_bytes();
  for (int round = 0; round < 12; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      execl("/proc/self/exe", "memory_test", "--churn", nullptr);
      _exit(2);
    }
    // Until it is at work, and then some moment later.
    while (free_bytes() == before && waitpid(child, nullptr, WNOHANG) == 0) usleep(200);
    usleep(static_cast<useconds_t>(137 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    ASSERT_EQ(free_bytes(), before);
    EXPECT_OK(cuMemFree_v2(allocate(4096)));
  }
}

TEST_F(MemoryTest, PoolsAreSharedWithDevicesOnRequest) {
  CUmemoryPool pool = nullptr;
  ASSERT_OK(cuDeviceGetDefaultMemPool(&pool, 0));
  CUmemLocation location{CU_MEM_LOCATION_TYPE_DEVICE, 1};
  CUmemAccess_flags access{};
  EXPECT_OK(cuMemPoolGetAccess(&access, pool, &location));
  EXPECT_EQ(access, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  CUmemAccessDesc wanted{location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_OK(cuMemPoolSetAccess(pool, &wanted, 1));
  EXPECT_OK(cuMemPoolGetAccess(&access, pool, &location));
  EXPECT_EQ(access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CUdeviceptr address = 0;
  ASSERT_OK(cuMemAllocAsync(&address, 4, nullptr));
  CUcontext other = nullptr;
  ASSERT_OK(cuCtxCreate_v2(&other, 0, 1));
  EXPECT_OK(cuMemsetD32_v2(address, 8, 1));
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_OK(cuCtxDestroy_v2(other));
  EXPECT_EQ(read(address), 8u);
  wanted.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  EXPECT_OK(cuMemPoolSetAccess(pool, &wanted, 1));
}

TEST_F(MemoryTest, CopiesInEveryDirection) {
  std::vector<unsigned char> source(300000), result(300000);
  std::iota(source.begin(), source.end(), 0);
  const CUdeviceptr a = allocate(source.size()), b = allocate(source.size());
  EXPECT_OK(cuMemcpyHtoD_v2(a, source.data(), source.size()));
  EXPECT_OK(cuMemcpyDtoD_v2(b, a, source.size()));
  EXPECT_OK(cuMemcpyDtoH_v2(result.data(), b, result.size()));
  EXPECT_EQ(source, result);
  std::fill(result.begin(), result.end(), 0);
  EXPECT_OK(cuMemcpy(reinterpret_cast<CUdeviceptr>(result.data()), b, result.size()));
  EXPECT_EQ(source, result);
  EXPECT_EQ(cuMemcpyHtoD_v2(a + 1, source.data(), source.size()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH_v2(result.data(), 0x1234, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD_v2(a, nullptr, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuMemcpyHtoD_v2(a, source.data(), 0));
  EXPECT_OK(cuCtxSynchronize());
}

TEST_F(MemoryTest, TwoAndThreeDimensions) {
  CUdeviceptr pitched = 0;
  size_t pitch = 0;
  ASSERT_OK(cuMemAllocPitch_v2(&pitched, &pitch, 100, 8, 4));
  EXPECT_EQ(pitch % 512, 0u);
  std::vector<char> host(100 * 8), back(100 * 8);
  std::iota(host.begin(), host.end(), 1);
  CUDA_MEMCPY2D to{};
  to.srcMemoryType = CU_MEMORYTYPE_HOST;
  to.srcHost = host.data();
  to.srcPitch = 100;
  to.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  to.dstDevice = pitched;
  to.dstPitch = pitch;
  to.WidthInBytes = 100;
  to.Height = 8;
  EXPECT_OK(cuMemcpy2D_v2(&to));
  CUDA_MEMCPY3D from{};
  from.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  from.srcDevice = pitched;
  from.srcPitch = pitch;
  from.srcHeight = 4;
  from.dstMemoryType = CU_MEMORYTYPE_HOST;
  from.dstHost = back.data();
  from.dstPitch = 100;
  from.dstHeight = 4;
  from.WidthInBytes = 100;
  from.Height = 4;
  from.Depth = 2;
  EXPECT_OK(cuMemcpy3D_v2(&from));
  EXPECT_EQ(host, back);
  to.dstPitch = 50;
  EXPECT_EQ(cuMemcpy2D_v2(&to), CUDA_ERROR_INVALID_VALUE);
  from.Depth = 3;
  EXPECT_EQ(cuMemcpy3D_v2(&from), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryTest, Memset) {
  const CUdeviceptr address = allocate(4096);
  std::vector<unsigned> words(1024);
  EXPECT_OK(cuMemsetD32_v2(address, 0x01020304, 1024));
  EXPECT_OK(cuMemsetD16_v2(address + 4, 0xabcd, 2));
  EXPECT_OK(cuMemsetD8_v2(address + 8, 0x7f, 4));
  EXPECT_OK(cuMemsetD2D32_v2(address + 16, 64, 9, 2, 3));
  EXPECT_OK(cuMemcpyDtoH_v2(words.data(), address, 4096));
  EXPECT_EQ(words[0], 0x01020304u);
  EXPECT_EQ(words[1], 0xabcdabcdu);
  EXPECT_EQ(words[2], 0x7f7f7f7fu);
  for (const size_t at : {4, 5, 20, 21, 36, 37}) EXPECT_EQ(words[at], 9u);
  EXPECT_EQ(words[6], 0x01020304u);
  EXPECT_EQ(cuMemsetD32_v2(address + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8_v2(address + 4090, 0, 7), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryTest, HostMemory) {
  void* pinned = nullptr;
  ASSERT_OK(cuMemHostAlloc(&pinned, 10000, CU_MEMHOSTALLOC_DEVICEMAP));
  CUdeviceptr device = 0;
  EXPECT_OK(cuMemHostGetDevicePointer_v2(&device, pinned, 0));
  EXPECT_EQ(device, reinterpret_cast<CUdeviceptr>(pinned));
  EXPECT_OK(add(nullptr, device, 5));
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_EQ(*static_cast<unsigned*>(pinned), 5u);
  unsigned flags = 0;
  EXPECT_OK(cuMemHostGetFlags(&flags, pinned));
  EXPECT_EQ(flags, CU_MEMHOSTALLOC_DEVICEMAP);
  std::vector<char> own(5000);
  EXPECT_OK(cuMemHostRegister_v2(own.data(), own.size(), 0));
  EXPECT_EQ(cuMemHostRegister_v2(own.data() + 10, 10, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(cuMemFreeHost(own.data()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuMemHostUnregister(own.data()));
  EXPECT_EQ(cuMemHostUnregister(own.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_OK(cuMemFreeHost(pinned));
  EXPECT_EQ(cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryTest, PointerAttributes) {
  const CUdeviceptr address = allocate(1000);
  CUmemorytype type{};
  EXPECT_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 999));
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 1000),
            CUDA_ERROR_INVALID_VALUE);
  CUcontext owner = nullptr;
  EXPECT_OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, address));
  EXPECT_EQ(owner, context_);
  int local = 0;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  int ordinal = 77;
  void* data[] = {&owner, &ordinal};
  EXPECT_OK(cuPointerGetAttributes(2, attributes, data, reinterpret_cast<CUdeviceptr>(&local)));
  EXPECT_EQ(owner, nullptr);
  EXPECT_EQ(ordinal, -2);
}

TEST_F(MemoryTest, PoolAllocationsInStreamOrder) {
  CUstream stream = nullptr;
  ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const size_t before = free_bytes();
  CUdeviceptr address = 0;
  ASSERT_OK(cuMemAllocAsync(&address, 1 << 20, stream));
  EXPECT_OK(sleep(stream, 20));
  EXPECT_OK(add(stream, address, 3));
  EXPECT_OK(cuMemFreeAsync(address, stream));
  EXPECT_EQ(free_bytes(), before - (1 << 20));
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(free_bytes(), before);
  CUmemoryPool pool = nullptr;
  EXPECT_OK(cuDeviceGetDefaultMemPool(&pool, 0));
  uint64_t high = 0;
  EXPECT_OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &high));
  EXPECT_EQ(high, uint64_t{1} << 20);
}

TEST_F(MemoryTest, ManagedMemoryIsTheHostsToo) {
  CUdeviceptr address = 0;
  ASSERT_OK(cuMemAllocManaged(&address, 4096, CU_MEM_ATTACH_GLOBAL));
  auto* word = reinterpret_cast<unsigned*>(address);
  *word = 4;
  EXPECT_OK(add(nullptr, address, 3));
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_EQ(*word, 7u);
}

TEST_F(MemoryTest, ContextsAndPeers) {
  const CUdeviceptr mine = allocate(64);
  CUcontext other = nullptr;
  ASSERT_OK(cuCtxCreate_v2(&other, 0, 1));
  CUmodule module = nullptr;
  ASSERT_OK(cuModuleLoadData(&module, kFakeModule));
  CUfunction function = nullptr;
  ASSERT_OK(cuModuleGetFunction(&function, module, "add"));
  unsigned value = 1;
  CUdeviceptr address = mine;
  void* parameters[] = {&address, &value};
  EXPECT_EQ(cuCtxEnablePeerAccess(other, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  EXPECT_OK(cuCtxEnablePeerAccess(context_, 0));
  EXPECT_EQ(cuCtxEnablePeerAccess(context_, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_OK(launch(function, nullptr, parameters));
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_OK(cuCtxDisablePeerAccess(context_));
  EXPECT_OK(launch(function, nullptr, parameters));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_OK(cuCtxDestroy_v2(other));
}

}  // namespace

namespace {

// A process that allocates and frees until it is killed.
int churn() {
  CUcontext context;
  CUdeviceptr first, second;
  if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS) return 1;
  while (cuMemAlloc_v2(&first, 1 << 20) == CUDA_SUCCESS && cuMemAlloc_v2(&second, 3000) == CUDA_SUCCESS &&
         cuMemFree_v2(first) == CUDA_SUCCESS && cuMemFree_v2(second) == CUDA_SUCCESS) {
  }
  return 1;
}

// The other process of SharedBetweenProcesses: says what it sees, takes 100 MiB, waits to be killed.
int run_child() {
  CUcontext context;
  CUdeviceptr address;
  size_t free = 0;
  if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS) return 1;
  if (cuMemGetInfo_v2(&free, nullptr) != CUDA_SUCCESS) return 1;
  if (cuMemAlloc_v2(&address, 100 << 20) != CUDA_SUCCESS) return 1;
  if (write(10, &free, sizeof(free)) != sizeof(free)) return 1;
  char byte;
  return read(11, &byte, 1) == 1 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--child") == 0) return run_child();
  if (argc > 1 && std::strcmp(argv[1], "--churn") == 0) return churn();
  return run_with_devices(argc, argv, "2x(memory=1GiB,cc=9.0,sms=4)");
}
