// Threads that share a context, and threads that use the per-thread default stream, at the same time.
//
// Round trips: 25.
#include <atomic>
#include <thread>
#include <vector>

#include "check.h"

using namespace sluice::programs;

namespace {

constexpr unsigned kCount = 4096;
constexpr int kThreads = 8;
constexpr int kRounds = 50;

// Allocates, fills, adds `kRounds` times, reads back, frees; everything in a stream of its own.
void work(CUcontext context, CUfunction add, unsigned amount, bool own_stream) {
  CHECK(cu.cuCtxSetCurrent(context));
  CUstream stream = CU_STREAM_PER_THREAD;
  if (own_stream) CHECK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr values{};
  CHECK(cu.cuMemAlloc_v2(&values, kCount * sizeof(unsigned)));
  CHECK(cu.cuMemsetD32Async(values, amount, kCount, stream));
  for (int round = 0; round < kRounds; round++) {
    CHECK(launch(add, kCount / 256, 256, stream, values, kCount, amount));
  }
  std::vector<unsigned> back(kCount);
  CHECK(cu.cuMemcpyDtoHAsync_v2(back.data(), values, kCount * sizeof(unsigned), stream));
  CHECK(cu.cuStreamSynchronize(stream));
  for (unsigned value : back) EXPECT(value == amount * (kRounds + 1));
  CHECK(cu.cuMemFree_v2(values));
  if (own_stream) CHECK(cu.cuStreamDestroy_v2(stream));
}

}  // namespace

int main() {
  const CUcontext context = open_device();
  const CUmodule module = load_module(kAddPtx);
  const CUfunction add = find_kernel(module, "add");
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++) {
    threads.emplace_back(work, context, add, static_cast<unsigned>(i + 1), i % 2 == 0);
  }
  for (auto& thread : threads) thread.join();
  CHECK(cu.cuModuleUnload(module));
  say("%d threads, each with its own values", kThreads);
}
