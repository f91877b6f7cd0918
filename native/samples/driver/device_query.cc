// Prints what the driver says about each GPU: name, memory, compute
// capability, limits. Ends with status 1 when there is none or when an answer
// cannot be true.
#include "driver/driver_sample.h"

using namespace samples;

namespace {

struct Query {
  const Options& options;
  CUdevice device;

  int operator()(CUdevice_attribute attribute) const {
    int value = 0;
    CHECK(cuDeviceGetAttribute(&value, attribute, device));
    return value;
  }
};

void print_uuid(const CUuuid& uuid) {
  std::printf("  UUID                         GPU-");
  for (int i = 0; i < 16; ++i)
    std::printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
  std::printf("\n");
}

void print_limits(const Query& get) {
  std::printf("  Multiprocessors              %d\n", get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  std::printf("  Clock                        %.0f MHz\n", get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1e3);
  std::printf("  Memory bus                   %d bits\n", get(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
  std::printf("  L2 cache                     %d KiB\n", get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) / 1024);
  std::printf("  Constant memory              %d KiB\n",
              get(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY) / 1024);
  std::printf("  Shared memory per block      %d KiB\n",
              get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) / 1024);
  std::printf("  Registers per block          %d\n", get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK));
  std::printf("  Threads per block            %d\n", get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  std::printf("  Threads per multiprocessor   %d\n", get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
  std::printf("  Block dimensions             %d x %d x %d\n", get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
              get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y), get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z));
  std::printf("  Grid dimensions              %d x %d x %d\n", get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
              get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y), get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z));
  std::printf("  Copy engines                 %d\n", get(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT));
}

void print_one(const Options& options, int ordinal) {
  CUdevice device = 0;
  char name[256] = "";
  CUuuid uuid{};
  size_t total = 0, free_bytes = 0, total_now = 0;
  CHECK(cuDeviceGet(&device, ordinal));
  CHECK(cuDeviceGetName(name, sizeof name, device));
  CHECK(cuDeviceGetUuid(&uuid, device));
  CHECK(cuDeviceTotalMem(&total, device));
  const Query get{options, device};
  std::printf("GPU %d: %s\n", ordinal, name);
  print_uuid(uuid);
  std::printf("  Compute capability           %d.%d\n", get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
              get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  std::printf("  Memory                       %zu MiB\n", total >> 20);

  CUcontext context = nullptr;
  size_t stack = 0, heap = 0, printf_bytes = 0;
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuMemGetInfo(&free_bytes, &total_now));
  CHECK(cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE));
  CHECK(cuCtxGetLimit(&heap, CU_LIMIT_MALLOC_HEAP_SIZE));
  CHECK(cuCtxGetLimit(&printf_bytes, CU_LIMIT_PRINTF_FIFO_SIZE));
  CHECK(cuDevicePrimaryCtxRelease(device));
  std::printf("  Free memory                  %zu MiB\n", free_bytes >> 20);
  print_limits(get);
  std::printf("  Stack per thread             %zu bytes\n", stack);
  std::printf("  Device heap, printf buffer   %zu KiB, %zu KiB\n", heap >> 10, printf_bytes >> 10);

  if (name[0] == '\0') fail(options, "GPU %d has no name", ordinal);
  if (free_bytes > total_now || total_now > total)
    fail(options, "GPU %d: free %zu, total %zu and device memory %zu bytes contradict each other", ordinal,
         free_bytes, total_now, total);
  if (get(CU_DEVICE_ATTRIBUTE_WARP_SIZE) != 32) fail(options, "GPU %d: the warp size is not 32", ordinal);
  if (get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) < 1 || get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) < 1)
    fail(options, "GPU %d: no multiprocessors or no threads", ordinal);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "device_query", 0, "");
  int version = 0, count = 0;
  CHECK(cuInit(0));
  CHECK(cuDriverGetVersion(&version));
  CHECK(cuDeviceGetCount(&count));
  std::printf("CUDA driver %d.%d, %d GPU%s\n", version / 1000, version % 1000 / 10, count,
              count == 1 ? "" : "s");
  if (count < 1) fail(options, "there is no GPU");
  for (int ordinal = 0; ordinal < count; ++ordinal) print_one(options, ordinal);
  return 0;
}
