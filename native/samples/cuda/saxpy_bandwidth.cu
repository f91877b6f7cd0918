// Random bytes to the device and back, every byte compared, with the rates in
// GB/s; then y = a*x + y on the device over the first part of them. `--size`
// is the number of MiB; `--pinned` uses page-locked host memory.
#include <algorithm>

#include "common/checks.h"
#include "cuda/runtime_sample.h"

using namespace samples;

namespace {

constexpr unsigned int kThreads = 256;

/// Host memory of either kind.
unsigned char* host_memory(const Options& options, size_t bytes) {
  if (!options.pinned) return static_cast<unsigned char*>(std::malloc(bytes));
  void* pointer = nullptr;
  CHECK(cudaMallocHost(&pointer, bytes));
  return static_cast<unsigned char*>(pointer);
}

void release(const Options& options, unsigned char* pointer) {
  if (!options.pinned) return std::free(pointer);
  CHECK(cudaFreeHost(pointer));
}

}  // namespace

__global__ void saxpy(float a, const float* x, float* y, unsigned int count) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = fmaf(a, x[i], y[i]);
}

/// y = a*x + y over `count` floats, checked against the CPU.
static void check_saxpy(const Options& options, float* device_x, float* device_y, size_t count) {
  std::vector<float> x(count), y(count), got(count);
  const size_t bytes = count * sizeof(float);
  Random random(4);
  for (float& value : x) value = random.next_float();
  for (float& value : y) value = random.next_float();
  const float a = 2.5f;
  const unsigned int elements = static_cast<unsigned int>(count);
  CHECK(cudaMemcpy(device_x, x.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(device_y, y.data(), bytes, cudaMemcpyHostToDevice));
  saxpy<<<(elements + kThreads - 1) / kThreads, kThreads>>>(a, device_x, device_y, elements);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(got.data(), device_y, bytes, cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < count; ++i) y[i] = std::fmaf(a, x[i], y[i]);
  compare(options, "a*x + y", got.data(), y.data(), count);
}

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "saxpy_bandwidth", 256, "MiB to copy each way");
  const size_t bytes = options.size << 20;
  const size_t floats = std::min(bytes / sizeof(float), size_t{1} << 18);

  use_device(options);
  unsigned char* data = nullptr;
  float* other = nullptr;
  CHECK(cudaMalloc(&data, bytes));
  CHECK(cudaMalloc(&other, floats * sizeof(float)));
  unsigned char* sent = host_memory(options, bytes);
  unsigned char* received = host_memory(options, bytes);
  if (sent == nullptr || received == nullptr) fail(options, "no host memory for twice %zu MiB", options.size);
  Random(3).fill(sent, bytes);

  double up = 0, down = 0;
  repeat(options, [&](unsigned long) {
    std::memset(received, 0, bytes);
    auto start = Clock::now();
    CHECK(cudaMemcpy(data, sent, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    up = static_cast<double>(bytes) / seconds_since(start) / 1e9;
    start = Clock::now();
    CHECK(cudaMemcpy(received, data, bytes, cudaMemcpyDeviceToHost));
    down = static_cast<double>(bytes) / seconds_since(start) / 1e9;
    compare_bytes(options, received, sent, bytes);
    check_saxpy(options, reinterpret_cast<float*>(data), other, floats);
  });

  release(options, sent);
  release(options, received);
  CHECK(cudaFree(data));
  CHECK(cudaFree(other));
  std::printf("to the device   %8.2f GB/s (%zu MiB)\n", up, options.size);
  std::printf("from the device %8.2f GB/s (%zu MiB)\n", down, options.size);
  std::printf("all %zu bytes came back; a*x + y of %zu elements equals the CPU's\n", bytes, floats);
  return 0;
}
