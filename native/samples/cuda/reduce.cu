// Sum, maximum and a sum of floats over `--size` numbers: each warp reduces
// with shuffles, each block through shared memory, the blocks with atomics.
#include "common/checks.h"
#include "cuda/runtime_sample.h"

using namespace samples;

namespace {
constexpr unsigned int kThreads = 256;
constexpr unsigned int kBlocks = 64;
constexpr unsigned int kAllLanes = 0xFFFFFFFFu;
}  // namespace

__global__ void reduce_kernel(const unsigned int* input, Reduction* output, unsigned int count) {
  __shared__ unsigned long long sums[kThreads / 32];
  __shared__ unsigned int maxima[kThreads / 32];
  __shared__ float float_sums[kThreads / 32];
  unsigned long long sum = 0;
  unsigned int maximum = 0;
  float float_sum = 0;
  for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) {
    const unsigned int value = input[i];
    sum += value;
    maximum = max(maximum, value);
    float_sum += static_cast<float>(value & 7u);
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(kAllLanes, sum, distance);
    maximum = max(maximum, __shfl_xor_sync(kAllLanes, maximum, distance));
    float_sum += __shfl_down_sync(kAllLanes, float_sum, distance);
  }
  if (threadIdx.x % 32 == 0) {
    sums[threadIdx.x / 32] = sum;
    maxima[threadIdx.x / 32] = maximum;
    float_sums[threadIdx.x / 32] = float_sum;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned int warp = 1; warp < kThreads / 32; ++warp) {
    sum += sums[warp];
    maximum = max(maximum, maxima[warp]);
    float_sum += float_sums[warp];
  }
  atomicAdd(&output->sum, sum);
  atomicMax(&output->maximum, maximum);
  atomicAdd(&output->float_sum, float_sum);
}

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "reduce", size_t{1} << 20, "how many numbers");
  std::vector<unsigned int> values(options.size);
  const size_t bytes = values.size() * sizeof values[0];
  Random(2).fill(values.data(), bytes);
  const Reduction want = reduce(values);

  use_device(options);
  unsigned int* input = nullptr;
  Reduction* output = nullptr;
  CHECK(cudaMalloc(&input, bytes));
  CHECK(cudaMalloc(&output, sizeof(Reduction)));
  CHECK(cudaMemcpy(input, values.data(), bytes, cudaMemcpyHostToDevice));

  const unsigned int count = static_cast<unsigned int>(values.size());
  repeat(options, [&](unsigned long) {
    Reduction got;
    CHECK(cudaMemset(output, 0, sizeof got));
    reduce_kernel<<<kBlocks, kThreads>>>(input, output, count);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&got, output, sizeof got, cudaMemcpyDeviceToHost));
    compare(options, got, want);
  });

  CHECK(cudaFree(input));
  CHECK(cudaFree(output));
  std::printf("%zu numbers: sum %llu, maximum %u, sum of floats %.0f, all equal the CPU's\n", values.size(),
              want.sum, want.maximum, static_cast<double>(want.float_sum));
  return 0;
}
