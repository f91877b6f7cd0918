// Prints what the runtime library says about each GPU: name, memory, compute
// capability, limits. Ends with status 1 when there is none or when an answer
// cannot be true.
#include "cuda/runtime_sample.h"

using namespace samples;

namespace {

int attribute(const Options& options, cudaDeviceAttr name, int device) {
  int value = 0;
  CHECK(cudaDeviceGetAttribute(&value, name, device));
  return value;
}

void print_uuid(const cudaUUID_t& uuid) {
  std::printf("  UUID                         GPU-");
  for (int i = 0; i < 16; ++i)
    std::printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
  std::printf("\n");
}

void print_one(const Options& options, int device) {
  cudaDeviceProp gpu;
  size_t free_bytes = 0, total = 0, stack = 0, heap = 0, printf_bytes = 0;
  CHECK(cudaGetDeviceProperties(&gpu, device));
  std::printf("GPU %d: %s\n", device, gpu.name);
  print_uuid(gpu.uuid);
  std::printf("  Compute capability           %d.%d\n", gpu.major, gpu.minor);
  std::printf("  Memory                       %zu MiB\n", gpu.totalGlobalMem >> 20);
  CHECK(cudaSetDevice(device));
  CHECK(cudaMemGetInfo(&free_bytes, &total));
  CHECK(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
  CHECK(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize));
  CHECK(cudaDeviceGetLimit(&printf_bytes, cudaLimitPrintfFifoSize));
  std::printf("  Free memory                  %zu MiB\n", free_bytes >> 20);
  std::printf("  Multiprocessors              %d\n", gpu.multiProcessorCount);
  std::printf("  Clock                        %.0f MHz\n",
              attribute(options, cudaDevAttrClockRate, device) / 1e3);
  std::printf("  Memory bus                   %d bits\n", gpu.memoryBusWidth);
  std::printf("  L2 cache                     %d KiB\n", gpu.l2CacheSize / 1024);
  std::printf("  Constant memory              %zu KiB\n", gpu.totalConstMem / 1024);
  std::printf("  Shared memory per block      %zu KiB\n", gpu.sharedMemPerBlock / 1024);
  std::printf("  Registers per block          %d\n", gpu.regsPerBlock);
  std::printf("  Threads per block            %d\n", gpu.maxThreadsPerBlock);
  std::printf("  Threads per multiprocessor   %d\n", gpu.maxThreadsPerMultiProcessor);
  std::printf("  Block dimensions             %d x %d x %d\n", gpu.maxThreadsDim[0], gpu.maxThreadsDim[1],
              gpu.maxThreadsDim[2]);
  std::printf("  Grid dimensions              %d x %d x %d\n", gpu.maxGridSize[0], gpu.maxGridSize[1],
              gpu.maxGridSize[2]);
  std::printf("  Copy engines                 %d\n", gpu.asyncEngineCount);
  std::printf("  Stack per thread             %zu bytes\n", stack);
  std::printf("  Device heap, printf buffer   %zu KiB, %zu KiB\n", heap >> 10, printf_bytes >> 10);

  if (gpu.name[0] == '\0') fail(options, "GPU %d has no name", device);
  if (free_bytes > total || total > gpu.totalGlobalMem)
    fail(options, "GPU %d: free %zu, total %zu and device memory %zu bytes contradict each other", device,
         free_bytes, total, gpu.totalGlobalMem);
  if (gpu.warpSize != 32) fail(options, "GPU %d: the warp size is %d, not 32", device, gpu.warpSize);
  if (gpu.multiProcessorCount < 1 || gpu.maxThreadsPerBlock < 1)
    fail(options, "GPU %d: no multiprocessors or no threads", device);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "device_query", 0, "");
  int driver = 0, runtime = 0, count = 0;
  CHECK(cudaDriverGetVersion(&driver));
  CHECK(cudaRuntimeGetVersion(&runtime));
  CHECK(cudaGetDeviceCount(&count));
  std::printf("CUDA driver %d.%d, runtime %d.%d, %d GPU%s\n", driver / 1000, driver % 1000 / 10,
              runtime / 1000, runtime % 1000 / 10, count, count == 1 ? "" : "s");
  if (count < 1) fail(options, "there is no GPU");
  for (int device = 0; device < count; ++device) print_one(options, device);
  return 0;
}
