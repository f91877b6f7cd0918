// Sum, maximum and a sum of floats over `--size` numbers: each warp reduces
// with shuffles, each block through shared memory, the blocks with atomics.
#include "common/checks.h"
#include "driver/driver_sample.h"

using namespace samples;

namespace {
constexpr unsigned int kThreads = 256;
constexpr unsigned int kBlocks = 64;
}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "reduce", size_t{1} << 20, "how many numbers");
  std::vector<unsigned int> values(options.size);
  Random(2).fill(values.data(), values.size() * sizeof values[0]);
  const Reduction want = reduce(values);

  const CUdevice device = use_device(options);
  print_device(options, device);
  const CUmodule module = load_module(options, "reduce");
  const CUfunction kernel = get_function(options, module, "reduce");
  CUdeviceptr input = 0, output = 0;
  CHECK(cuMemAlloc(&input, values.size() * sizeof values[0]));
  CHECK(cuMemAlloc(&output, sizeof(Reduction)));
  CHECK(cuMemcpyHtoD(input, values.data(), values.size() * sizeof values[0]));

  unsigned int count = static_cast<unsigned int>(values.size());
  void* parameters[] = {&input, &output, &count};
  repeat(options, [&](unsigned long) {
    Reduction got;
    CHECK(cuMemsetD8(output, 0, sizeof got));
    CHECK(cuLaunchKernel(kernel, kBlocks, 1, 1, kThreads, 1, 1, 0, nullptr, parameters, nullptr));
    CHECK(cuMemcpyDtoH(&got, output, sizeof got));
    compare(options, got, want);
  });

  CHECK(cuMemFree(input));
  CHECK(cuMemFree(output));
  CHECK(cuModuleUnload(module));
  CHECK(cuDevicePrimaryCtxRelease(device));
  std::printf("%zu numbers: sum %llu, maximum %u, sum of floats %.0f, all equal the CPU's\n", values.size(),
              want.sum, want.maximum, static_cast<double>(want.float_sum));
  return 0;
}
