// Several streams at once: asynchronous copies from page-locked memory,
// kernels, events with timing, waits between streams and host callbacks, all
// enqueued without waiting; then the order and the results are checked.
// `--size` is the number of elements in each copy.
#include "common/overlap.h"
#include "cuda/runtime_sample.h"

using namespace samples;

namespace {

constexpr int kStreams = Overlap::kStreams;
constexpr int kRounds = Overlap::kRounds;
constexpr unsigned int kThreads = 128;

struct Lane {
  cudaStream_t stream = nullptr;
  cudaEvent_t start = nullptr;
  cudaEvent_t done = nullptr;
  unsigned int* data = nullptr;
  unsigned int* input = nullptr;   // page-locked, kRounds * count
  unsigned int* output = nullptr;  // page-locked, kRounds * count
  Overlap::Callback callbacks[kRounds];
};

unsigned int* pinned(const Options& options, size_t count) {
  unsigned int* pointer = nullptr;
  CHECK(cudaMallocHost(&pointer, count * sizeof(unsigned int)));
  return pointer;
}

void set_up(const Options& options, Overlap& overlap, Lane& lane, int s) {
  const size_t count = overlap.count();
  CHECK(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&lane.start));
  CHECK(cudaEventCreate(&lane.done));
  CHECK(cudaMalloc(&lane.data, overlap.bytes()));
  lane.input = pinned(options, kRounds * count);
  lane.output = pinned(options, kRounds * count);
  for (int r = 0; r < kRounds; ++r) {
    const size_t first = static_cast<size_t>(r) * count;
    for (size_t i = 0; i < count; ++i) lane.input[first + i] = Overlap::input(s, r, i);
    lane.callbacks[r] = {&overlap, s, r, lane.output + first};
  }
}

void tear_down(const Options& options, Lane& lane) {
  CHECK(cudaStreamSynchronize(lane.stream));
  CHECK(cudaEventDestroy(lane.start));
  CHECK(cudaEventDestroy(lane.done));
  CHECK(cudaStreamDestroy(lane.stream));
  CHECK(cudaFree(lane.data));
  CHECK(cudaFreeHost(lane.input));
  CHECK(cudaFreeHost(lane.output));
}

}  // namespace

__global__ void advance(unsigned int* data, unsigned int count, unsigned int steps) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned int value = data[i];
  for (unsigned int step = 0; step < steps; ++step) value = value * 1664525u + 1013904223u;
  data[i] = value;
}

__global__ void combine(const unsigned int* a, const unsigned int* b, const unsigned int* c,
                        const unsigned int* d, unsigned int* sum, unsigned int count) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = a[i] + b[i] + c[i] + d[i];
}

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "stream_overlap", 65536, "elements in each copy");
  Overlap overlap(options.size);
  const size_t count = overlap.count();
  const unsigned int elements = static_cast<unsigned int>(count);
  const unsigned int blocks = (elements + kThreads - 1) / kThreads;

  use_device(options);
  Lane lanes[kStreams];
  for (int s = 0; s < kStreams; ++s) set_up(options, overlap, lanes[s], s);
  cudaStream_t last = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  unsigned int* sum = nullptr;
  CHECK(cudaStreamCreateWithFlags(&last, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaMalloc(&sum, overlap.bytes()));
  unsigned int* sum_host = pinned(options, count);
  Overlap::Callback sum_callback{&overlap, kStreams, 0, sum_host};

  float total = 0;
  repeat(options, [&](unsigned long) {
    overlap.reset();
    for (Lane& lane : lanes) std::memset(lane.output, 0, kRounds * overlap.bytes());
    std::memset(sum_host, 0, overlap.bytes());
    CHECK(cudaEventRecord(begin, last));
    for (Lane& lane : lanes) {
      CHECK(cudaStreamWaitEvent(lane.stream, begin, 0));
      CHECK(cudaEventRecord(lane.start, lane.stream));
      for (int r = 0; r < kRounds; ++r) {
        const size_t first = static_cast<size_t>(r) * count;
        CHECK(cudaMemcpyAsync(lane.data, lane.input + first, overlap.bytes(), cudaMemcpyHostToDevice,
                              lane.stream));
        advance<<<blocks, kThreads, 0, lane.stream>>>(lane.data, elements, Overlap::kSteps);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(lane.output + first, lane.data, overlap.bytes(), cudaMemcpyDeviceToHost,
                              lane.stream));
        CHECK(cudaLaunchHostFunc(lane.stream, Overlap::called, &lane.callbacks[r]));
      }
      CHECK(cudaEventRecord(lane.done, lane.stream));
      CHECK(cudaStreamWaitEvent(last, lane.done, 0));
    }
    combine<<<blocks, kThreads, 0, last>>>(lanes[0].data, lanes[1].data, lanes[2].data, lanes[3].data, sum,
                                           elements);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(sum_host, sum, overlap.bytes(), cudaMemcpyDeviceToHost, last));
    CHECK(cudaLaunchHostFunc(last, Overlap::called, &sum_callback));
    CHECK(cudaEventRecord(end, last));
    CHECK(cudaEventSynchronize(end));

    overlap.check(options);
    float milliseconds[kStreams] = {};
    for (int s = 0; s < kStreams; ++s)
      CHECK(cudaEventElapsedTime(&milliseconds[s], lanes[s].start, lanes[s].done));
    CHECK(cudaEventElapsedTime(&total, begin, end));
    check_times(options, milliseconds, kStreams, total);
  });

  for (Lane& lane : lanes) tear_down(options, lane);
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  CHECK(cudaStreamDestroy(last));
  CHECK(cudaFree(sum));
  CHECK(cudaFreeHost(sum_host));
  std::printf("%d streams of %d rounds of %zu elements in %.3f ms: order and results are right\n", kStreams,
              kRounds, count, static_cast<double>(total));
  return 0;
}
