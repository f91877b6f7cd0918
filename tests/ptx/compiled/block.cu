// Sums, sorts and products that a block's threads make together in shared memory.
__inline__ __device__ float warp_sum(float v) {
  for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(0xffffffffu, v, step);
  return v;
}

extern "C" __global__ void block_sum(const float* in, float* out, int n) {
  __shared__ float partial[32];
  float v = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f;
    v = warp_sum(v);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}

extern "C" __global__ void bitonic_sort(unsigned* data) {
  extern __shared__ unsigned keys[];
  const unsigned t = threadIdx.x;
  keys[t] = data[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (unsigned size = 2; size <= blockDim.x; size *= 2) {
    for (unsigned stride = size / 2; stride > 0; stride /= 2) {
      const unsigned other = t ^ stride;
      if (other > t) {
        const bool ascending = (t & size) == 0;
        const unsigned a = keys[t], b = keys[other];
        if ((a > b) == ascending) {
          keys[t] = b;
          keys[other] = a;
        }
      }
      __syncthreads();
    }
  }
  data[blockIdx.x * blockDim.x + t] = keys[t];
}

template <int kTile>
__device__ void multiply(const float* a, const float* b, float* c, int n) {
  __shared__ float as[kTile][kTile], bs[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int tile = 0; tile < (n + kTile - 1) / kTile; ++tile) {
    const int i = tile * kTile + threadIdx.x, j = tile * kTile + threadIdx.y;
    as[threadIdx.y][threadIdx.x] = row < n && i < n ? a[row * n + i] : 0.0f;
    bs[threadIdx.y][threadIdx.x] = column < n && j < n ? b[j * n + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTile; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}

extern "C" __global__ void matrix_product(const float* a, const float* b, float* c, int n) {
  multiply<16>(a, b, c, n);
}

extern "C" __global__ void inclusive_scan(const int* in, int* out, int n) {
  __shared__ int totals[32];
  const int i = threadIdx.x, lane = i % 32, warp = i / 32;
  int v = i < n ? in[i] : 0;
  for (int step = 1; step < 32; step *= 2) {
    const int up = __shfl_up_sync(0xffffffffu, v, step);
    if (lane >= step) v += up;
  }
  if (lane == 31) totals[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int t = lane < (int)blockDim.x / 32 ? totals[lane] : 0;
    for (int step = 1; step < 32; step *= 2) {
      const int up = __shfl_up_sync(0xffffffffu, t, step);
      if (lane >= step) t += up;
    }
    totals[lane] = t;
  }
  __syncthreads();
  if (warp > 0) v += totals[warp - 1];
  if (i < n) out[i] = v;
}
