// Random bytes to the device and back, every byte compared, with the rates in
// GB/s; then y = a*x + y on the device over the first part of them. `--size`
// is the number of MiB; `--pinned` uses page-locked host memory.
#include <algorithm>

#include "common/checks.h"
#include "driver/driver_sample.h"

using namespace samples;

namespace {

constexpr unsigned int kThreads = 256;

/// Host memory of either kind.
unsigned char* host_memory(const Options& options, size_t bytes) {
  if (!options.pinned) return static_cast<unsigned char*>(std::malloc(bytes));
  void* pointer = nullptr;
  CHECK(cuMemAllocHost(&pointer, bytes));
  return static_cast<unsigned char*>(pointer);
}

void release(const Options& options, unsigned char* pointer) {
  if (!options.pinned) return std::free(pointer);
  CHECK(cuMemFreeHost(pointer));
}

/// y = a*x + y over `count` floats, checked against the CPU.
void saxpy(const Options& options, CUfunction kernel, CUdeviceptr device_x, CUdeviceptr device_y,
           size_t count) {
  std::vector<float> x(count), y(count), got(count);
  Random random(4);
  for (float& value : x) value = random.next_float();
  for (float& value : y) value = random.next_float();
  float a = 2.5f;
  unsigned int elements = static_cast<unsigned int>(count);
  void* parameters[] = {&a, &device_x, &device_y, &elements};
  CHECK(cuMemcpyHtoD(device_x, x.data(), count * sizeof(float)));
  CHECK(cuMemcpyHtoD(device_y, y.data(), count * sizeof(float)));
  CHECK(cuLaunchKernel(kernel, (elements + kThreads - 1) / kThreads, 1, 1, kThreads, 1, 1, 0, nullptr,
                       parameters, nullptr));
  CHECK(cuMemcpyDtoH(got.data(), device_y, count * sizeof(float)));
  for (size_t i = 0; i < count; ++i) y[i] = std::fmaf(a, x[i], y[i]);
  compare(options, "a*x + y", got.data(), y.data(), count);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "saxpy_bandwidth", 256, "MiB to copy each way");
  const size_t bytes = options.size << 20;
  const size_t floats = std::min(bytes / sizeof(float), size_t{1} << 18);

  const CUdevice device = use_device(options);
  print_device(options, device);
  const CUmodule module = load_module(options, "saxpy_bandwidth");
  const CUfunction kernel = get_function(options, module, "saxpy");
  CUdeviceptr data = 0, other = 0;
  CHECK(cuMemAlloc(&data, bytes));
  CHECK(cuMemAlloc(&other, floats * sizeof(float)));
  unsigned char* sent = host_memory(options, bytes);
  unsigned char* received = host_memory(options, bytes);
  if (sent == nullptr || received == nullptr) fail(options, "no host memory for twice %zu MiB", options.size);
  Random(3).fill(sent, bytes);

  double up = 0, down = 0;
  repeat(options, [&](unsigned long) {
    std::memset(received, 0, bytes);
    auto start = Clock::now();
    CHECK(cuMemcpyHtoD(data, sent, bytes));
    CHECK(cuCtxSynchronize());
    up = static_cast<double>(bytes) / seconds_since(start) / 1e9;
    start = Clock::now();
    CHECK(cuMemcpyDtoH(received, data, bytes));
    down = static_cast<double>(bytes) / seconds_since(start) / 1e9;
    compare_bytes(options, received, sent, bytes);
    saxpy(options, kernel, data, other, floats);
  });

  release(options, sent);
  release(options, received);
  CHECK(cuMemFree(data));
  CHECK(cuMemFree(other));
  CHECK(cuModuleUnload(module));
  CHECK(cuDevicePrimaryCtxRelease(device));
  std::printf("to the device   %8.2f GB/s (%zu MiB)\n", up, options.size);
  std::printf("from the device %8.2f GB/s (%zu MiB)\n", down, options.size);
  std::printf("all %zu bytes came back; a*x + y of %zu elements equals the CPU's\n", bytes, floats);
  return 0;
}
