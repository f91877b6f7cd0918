// Several streams at once: asynchronous copies from page-locked memory,
// kernels, events with timing, waits between streams and host callbacks, all
// enqueued without waiting; then the order and the results are checked.
// `--size` is the number of elements in each copy.
#include <array>

#include "common/overlap.h"
#include "driver/driver_sample.h"

using namespace samples;

namespace {

constexpr int kStreams = Overlap::kStreams;
constexpr int kRounds = Overlap::kRounds;
constexpr unsigned int kThreads = 128;

struct Lane {
  CUstream stream = nullptr;
  CUevent start = nullptr;
  CUevent done = nullptr;
  CUdeviceptr data = 0;
  unsigned int* input = nullptr;   // page-locked, kRounds * count
  unsigned int* output = nullptr;  // page-locked, kRounds * count
  std::array<Overlap::Callback, kRounds> callbacks;
};

unsigned int* pinned(const Options& options, size_t count) {
  void* pointer = nullptr;
  CHECK(cuMemAllocHost(&pointer, count * sizeof(unsigned int)));
  return static_cast<unsigned int*>(pointer);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "stream_overlap", 65536, "elements in each copy");
  Overlap overlap(options.size);
  const size_t count = overlap.count();
  const unsigned int blocks = static_cast<unsigned int>((count + kThreads - 1) / kThreads);

  const CUdevice device = use_device(options);
  print_device(options, device);
  const CUmodule module = load_module(options, "stream_overlap");
  const CUfunction advance = get_function(options, module, "advance");
  const CUfunction combine = get_function(options, module, "combine");

  std::array<Lane, kStreams> lanes;
  for (int s = 0; s < kStreams; ++s) {
    Lane& lane = lanes[static_cast<size_t>(s)];
    CHECK(cuStreamCreate(&lane.stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&lane.start, CU_EVENT_DEFAULT));
    CHECK(cuEventCreate(&lane.done, CU_EVENT_DEFAULT));
    CHECK(cuMemAlloc(&lane.data, overlap.bytes()));
    lane.input = pinned(options, kRounds * count);
    lane.output = pinned(options, kRounds * count);
    for (int r = 0; r < kRounds; ++r) {
      const size_t first = static_cast<size_t>(r) * count;
      for (size_t i = 0; i < count; ++i) lane.input[first + i] = Overlap::input(s, r, i);
      lane.callbacks[static_cast<size_t>(r)] = {&overlap, s, r, lane.output + first};
    }
  }
  CUstream last = nullptr;
  CUevent begin = nullptr, end = nullptr;
  CUdeviceptr sum = 0;
  CHECK(cuStreamCreate(&last, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&begin, CU_EVENT_DEFAULT));
  CHECK(cuEventCreate(&end, CU_EVENT_DEFAULT));
  CHECK(cuMemAlloc(&sum, overlap.bytes()));
  unsigned int* sum_host = pinned(options, count);
  Overlap::Callback sum_callback{&overlap, kStreams, 0, sum_host};

  unsigned int elements = static_cast<unsigned int>(count);
  unsigned int steps = Overlap::kSteps;
  float total = 0;
  repeat(options, [&](unsigned long) {
    overlap.reset();
    for (Lane& lane : lanes) std::memset(lane.output, 0, kRounds * overlap.bytes());
    std::memset(sum_host, 0, overlap.bytes());
    CHECK(cuEventRecord(begin, last));
    for (Lane& lane : lanes) {
      CHECK(cuStreamWaitEvent(lane.stream, begin, 0));
      CHECK(cuEventRecord(lane.start, lane.stream));
      void* parameters[] = {&lane.data, &elements, &steps};
      for (int r = 0; r < kRounds; ++r) {
        const size_t first = static_cast<size_t>(r) * count;
        CHECK(cuMemcpyHtoDAsync(lane.data, lane.input + first, overlap.bytes(), lane.stream));
        CHECK(cuLaunchKernel(advance, blocks, 1, 1, kThreads, 1, 1, 0, lane.stream, parameters, nullptr));
        CHECK(cuMemcpyDtoHAsync(lane.output + first, lane.data, overlap.bytes(), lane.stream));
        CHECK(cuLaunchHostFunc(lane.stream, Overlap::called, &lane.callbacks[static_cast<size_t>(r)]));
      }
      CHECK(cuEventRecord(lane.done, lane.stream));
      CHECK(cuStreamWaitEvent(last, lane.done, 0));
    }
    void* parameters[] = {&lanes[0].data, &lanes[1].data, &lanes[2].data, &lanes[3].data, &sum, &elements};
    CHECK(cuLaunchKernel(combine, blocks, 1, 1, kThreads, 1, 1, 0, last, parameters, nullptr));
    CHECK(cuMemcpyDtoHAsync(sum_host, sum, overlap.bytes(), last));
    CHECK(cuLaunchHostFunc(last, Overlap::called, &sum_callback));
    CHECK(cuEventRecord(end, last));
    CHECK(cuEventSynchronize(end));

    overlap.check(options);
    float milliseconds[kStreams] = {};
    for (size_t s = 0; s < lanes.size(); ++s)
      CHECK(cuEventElapsedTime(&milliseconds[s], lanes[s].start, lanes[s].done));
    CHECK(cuEventElapsedTime(&total, begin, end));
    check_times(options, milliseconds, kStreams, total);
  });

  for (Lane& lane : lanes) {
    CHECK(cuStreamSynchronize(lane.stream));
    CHECK(cuEventDestroy(lane.start));
    CHECK(cuEventDestroy(lane.done));
    CHECK(cuStreamDestroy(lane.stream));
    CHECK(cuMemFree(lane.data));
    CHECK(cuMemFreeHost(lane.input));
    CHECK(cuMemFreeHost(lane.output));
  }
  CHECK(cuEventDestroy(begin));
  CHECK(cuEventDestroy(end));
  CHECK(cuStreamDestroy(last));
  CHECK(cuMemFree(sum));
  CHECK(cuMemFreeHost(sum_host));
  CHECK(cuModuleUnload(module));
  CHECK(cuDevicePrimaryCtxRelease(device));
  std::printf("%d streams of %d rounds of %zu elements in %.3f ms: order and results are right\n", kStreams,
              kRounds, count, static_cast<double>(total));
  return 0;
}
