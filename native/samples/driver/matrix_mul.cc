// C = A x B in tiles of 16 x 16 held in shared memory. `--size` is the number
// of rows and columns; it needs not be a multiple of the tile.
#include "common/checks.h"
#include "driver/driver_sample.h"

using namespace samples;

namespace {
constexpr unsigned int kTile = 16;
}

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "matrix_mul", 256, "rows and columns of the matrices");
  const size_t n = options.size;
  const size_t bytes = n * n * sizeof(float);
  Random random(1);
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (float& value : a) value = random.next_float();
  for (float& value : b) value = random.next_float();
  const std::vector<float> want = multiply(a, b, n);

  const CUdevice device = use_device(options);
  print_device(options, device);
  const CUmodule module = load_module(options, "matrix_mul");
  const CUfunction kernel = get_function(options, module, "matrix_mul");
  CUdeviceptr device_a = 0, device_b = 0, device_c = 0;
  CHECK(cuMemAlloc(&device_a, bytes));
  CHECK(cuMemAlloc(&device_b, bytes));
  CHECK(cuMemAlloc(&device_c, bytes));
  CHECK(cuMemcpyHtoD(device_a, a.data(), bytes));
  CHECK(cuMemcpyHtoD(device_b, b.data(), bytes));

  unsigned int size = static_cast<unsigned int>(n);
  void* parameters[] = {&device_a, &device_b, &device_c, &size};
  const unsigned int blocks = (size + kTile - 1) / kTile;
  double milliseconds = 0;
  repeat(options, [&](unsigned long) {
    CHECK(cuMemsetD8(device_c, 0xFF, bytes));
    const auto start = Clock::now();
    CHECK(cuLaunchKernel(kernel, blocks, blocks, 1, kTile, kTile, 1, 0, nullptr, parameters, nullptr));
    CHECK(cuCtxSynchronize());
    milliseconds = seconds_since(start) * 1e3;
    CHECK(cuMemcpyDtoH(c.data(), device_c, bytes));
    compare(options, "the product", c.data(), want.data(), c.size());
  });

  CHECK(cuMemFree(device_a));
  CHECK(cuMemFree(device_b));
  CHECK(cuMemFree(device_c));
  CHECK(cuModuleUnload(module));
  CHECK(cuDevicePrimaryCtxRelease(device));
  std::printf("%zu x %zu in %.2f ms: all %zu elements equal the CPU's\n", n, n, milliseconds, c.size());
  return 0;
}
