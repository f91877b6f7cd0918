// C = A x B in tiles of 16 x 16 held in shared memory. `--size` is the number
// of rows and columns; it needs not be a multiple of the tile.
#include "common/checks.h"
#include "cuda/runtime_sample.h"

using namespace samples;

namespace {
constexpr unsigned int kTile = 16;
}

__global__ void matrix_mul(const float* a, const float* b, float* c, unsigned int n) {
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile];
  const unsigned int column = blockIdx.x * kTile + threadIdx.x;
  const unsigned int row = blockIdx.y * kTile + threadIdx.y;
  float sum = 0;
  for (unsigned int first = 0; first < n; first += kTile) {
    const unsigned int k_a = first + threadIdx.x;
    const unsigned int k_b = first + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < n && k_a < n ? a[row * n + k_a] : 0;
    tile_b[threadIdx.y][threadIdx.x] = column < n && k_b < n ? b[k_b * n + column] : 0;
    __syncthreads();
    for (unsigned int k = 0; k < kTile; ++k) sum = fmaf(tile_a[threadIdx.y][k], tile_b[k][threadIdx.x], sum);
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
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

  use_device(options);
  float *device_a = nullptr, *device_b = nullptr, *device_c = nullptr;
  CHECK(cudaMalloc(&device_a, bytes));
  CHECK(cudaMalloc(&device_b, bytes));
  CHECK(cudaMalloc(&device_c, bytes));
  CHECK(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));

  const unsigned int size = static_cast<unsigned int>(n);
  const unsigned int blocks = (size + kTile - 1) / kTile;
  double milliseconds = 0;
  repeat(options, [&](unsigned long) {
    CHECK(cudaMemset(device_c, 0xFF, bytes));
    const auto start = Clock::now();
    matrix_mul<<<dim3(blocks, blocks), dim3(kTile, kTile)>>>(device_a, device_b, device_c, size);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    milliseconds = seconds_since(start) * 1e3;
    CHECK(cudaMemcpy(c.data(), device_c, bytes, cudaMemcpyDeviceToHost));
    compare(options, "the product", c.data(), want.data(), c.size());
  });

  CHECK(cudaFree(device_a));
  CHECK(cudaFree(device_b));
  CHECK(cudaFree(device_c));
  std::printf("%zu x %zu in %.2f ms: all %zu elements equal the CPU's\n", n, n, milliseconds, c.size());
  return 0;
}
