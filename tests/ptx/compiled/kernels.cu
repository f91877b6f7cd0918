// Kernels whose PTX, as nvcc 13.0 makes it, is kept beside this file (compiled_test.cc runs it):
//   nvcc --ptx -arch=compute_75 kernels.cu -o kernels_75.ptx        and the same for 90
#include <cassert>
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

extern "C" __global__ void tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float x[16][16], y[16][16];
  const int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  float sum = 0;
  for (int t = 0; t < n / 16; t++) {
    x[threadIdx.y][threadIdx.x] = a[row * n + t * 16 + threadIdx.x];
    y[threadIdx.y][threadIdx.x] = b[(t * 16 + threadIdx.y) * n + col];
    __syncthreads();
    for (int k = 0; k < 16; k++) sum += x[threadIdx.y][k] * y[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

extern "C" __global__ void reduce(const int* in, long long* out, int* histogram, int n) {
  extern __shared__ int bins[];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  int v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    v += in[i];
    atomicAdd(&bins[in[i] & 15], 1);
  }
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
  if (threadIdx.x % 32 == 0) atomicAdd(reinterpret_cast<unsigned long long*>(out), static_cast<unsigned long long>(static_cast<long long>(v)));
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&histogram[threadIdx.x], bins[threadIdx.x]);
}

extern "C" __global__ void maths(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  float* o = y + i * 12;
  o[0] = sinf(v);
  o[1] = cosf(v);
  o[2] = expf(v);
  o[3] = logf(v);
  o[4] = powf(v, 1.3f);
  o[5] = tanhf(v);
  o[6] = sqrtf(v);
  o[7] = fmodf(v, 0.7f);
  o[8] = v / 3.1f;
  o[9] = erff(v);
  o[10] = cbrtf(v);
  o[11] = rsqrtf(v);
}

extern "C" __global__ void doubles(const double* x, double* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const double v = x[i];
  double* o = y + i * 8;
  o[0] = sin(v);
  o[1] = exp(v);
  o[2] = log(v);
  o[3] = pow(v, 1.7);
  o[4] = sqrt(v);
  o[5] = v / 3.3;
  o[6] = erf(v);
  o[7] = atan2(v, 2.0);
}

// Arrays indexed at run time, a switch, 64-bit and 16-bit integers.
extern "C" __global__ void mixed(const int* in, long long* out, int n) {
  const int i = threadIdx.x;
  int a[16];
  for (int k = 0; k < 16; k++) a[k] = in[(i + k) % n] * k;
  long long r = 0;
  const int v = in[i];
  switch (v & 7) {
    case 0: r = a[v & 15]; break;
    case 1: r = static_cast<long long>(v) * v; break;
    case 2: r = v / 7; break;
    case 3: r = a[3] ^ a[(i * 7) & 15]; break;
    case 4: r = __popc(v) + __clz(v) + __brev(v); break;
    case 5: r = static_cast<short>(v) >> 3; break;
    case 6: r = static_cast<unsigned long long>(v) * 0x9e3779b97f4a7c15ull >> 7; break;
    default: r = v % 13 + __umulhi(v, 12345);
  }
  out[i] = r;
}

__device__ __noinline__ int depth(int n) { return n < 2 ? n : depth(n - 1) + depth(n - 2); }
extern "C" __global__ void recursion(int* out, int n) { out[threadIdx.x] = depth(threadIdx.x % n); }

extern "C" __global__ void halves(__half* a, __half2* b, __nv_bfloat16* c) {
  const int i = threadIdx.x;
  a[i] = __hadd(a[i], __float2half(1.5f));
  b[i] = __hfma2(b[i], b[i], b[i]);
  c[i] = __hmul(c[i], __float2bfloat16(3.0f));
}

extern "C" __global__ void grid(int* p) {
  cg::grid_group all = cg::this_grid();
  p[all.thread_rank()] = 1;
  all.sync();
  int sum = 0;
  for (int i = 0; i < all.size(); i++) sum += p[i];
  all.sync();
  p[all.thread_rank()] = sum;
}

extern "C" __global__ void print(int v) {
  printf("thread %d of %u: %s %5.2f %c %llx%%\n", threadIdx.x, blockDim.x, "text", 1.5 * v, 'c', 0x123456789abcull);
  assert(v < 100);
}

extern "C" __global__ void heap(int* out) {
  int* p = static_cast<int*>(malloc(64));
  for (int k = 0; k < 16; k++) p[k] = threadIdx.x + k;
  int sum = 0;
  for (int k = 0; k < 16; k++) sum += p[k];
  free(p);
  out[threadIdx.x] = sum;
}
