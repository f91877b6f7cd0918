// Threads that find each other: cooperative groups, votes, atomics, a barrier over the whole grid.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

extern "C" __global__ void histogram(const unsigned char* in, unsigned* bins, int n) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[in[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

// One atomic per warp for all its lanes that keep their value.
extern "C" __global__ void compact(const int* in, int* out, int* count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] % 3 == 0) {
    const cg::coalesced_group active = cg::coalesced_threads();
    int at = 0;
    if (active.thread_rank() == 0) at = atomicAdd(count, active.size());
    out[active.shfl(at, 0) + active.thread_rank()] = in[i];
  }
}

extern "C" __global__ void tiles(const int* in, int* out) {
  const cg::thread_block_tile<8> tile = cg::tiled_partition<8>(cg::this_thread_block());
  const int sum = cg::reduce(tile, in[threadIdx.x], cg::plus<int>());
  const unsigned odd = tile.ballot(in[threadIdx.x] & 1);
  out[threadIdx.x] = sum * 256 + static_cast<int>(odd);
}

extern "C" __global__ void matches(const int* in, unsigned* out) {
  const unsigned same = __match_any_sync(0xffffffffu, in[threadIdx.x]);
  const unsigned total = __reduce_add_sync(0xffffffffu, in[threadIdx.x]);
  out[threadIdx.x] = same;
  out[threadIdx.x + 32] = total;
}

// Each step reads what all blocks wrote in the step before.
extern "C" __global__ void relax(float* a, float* b, int n, int steps) {
  const cg::grid_group grid = cg::this_grid();
  for (int step = 0; step < steps; ++step) {
    for (int i = grid.thread_rank(); i < n; i += grid.size()) {
      b[i] = 0.25f * a[i == 0 ? n - 1 : i - 1] + 0.5f * a[i] + 0.25f * a[i + 1 == n ? 0 : i + 1];
    }
    grid.sync();
    float* const t = a;
    a = b;
    b = t;
  }
}

// A counter guarded by a lock in global memory.
extern "C" __global__ void locked(int* lock, int* counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *(volatile int*)counter = *(volatile int*)counter + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
