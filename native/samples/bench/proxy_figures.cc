// What a driver API program gets from its GPU, however that is reached. Prints
// one line of JSON:
//   firstResultMilliseconds  from --started-ns (CLOCK_MONOTONIC when the program
//                            was started) to the first kernel's result
//   syncMicroseconds         median of a 4-byte copy from the device, which
//                            always has to wait for an answer
//   launchesPerSecond        empty kernels that cuLaunchKernel took in a second
//   completedPerSecond       the same with the wait for the last of them
//   …GBps                    64 MiB of random bytes, pageable and page-locked
//   proxy_figures [--started-ns N] [--first-only]
#include <ctime>

#include "bench/figures.h"
#include "common/checks.h"
#include "driver/driver_sample.h"

using namespace samples;

namespace {

constexpr size_t kCopyBytes = size_t{64} << 20;
constexpr int kCopies = 7;
constexpr int kSyncCalls = 3000;
constexpr unsigned int kAnswer = 0x51u;

double monotonic_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

struct Rates {
  double to = 0;
  double from = 0;
};

/// GB/s of 64 MiB each way; what comes back is compared.
Rates copies(const Options& options, CUdeviceptr device, bool pinned) {
  void *source = nullptr, *target = nullptr;
  std::vector<unsigned char> pageable_source, pageable_target;
  if (pinned) {
    CHECK(cuMemAllocHost(&source, kCopyBytes));
    CHECK(cuMemAllocHost(&target, kCopyBytes));
  } else {
    pageable_source.resize(kCopyBytes);
    pageable_target.resize(kCopyBytes);
    source = pageable_source.data();
    target = pageable_target.data();
  }
  Random(pinned ? 11 : 12).fill(source, kCopyBytes);
  std::memset(target, 1, kCopyBytes);
  std::vector<double> up, down;
  for (int i = 0; i < kCopies; ++i) {
    auto start = Clock::now();
    if (pinned) {
      CHECK(cuMemcpyHtoDAsync(device, source, kCopyBytes, nullptr));
    } else {
      CHECK(cuMemcpyHtoD(device, source, kCopyBytes));
    }
    CHECK(cuCtxSynchronize());
    up.push_back(seconds_since(start));
    start = Clock::now();
    if (pinned) {
      CHECK(cuMemcpyDtoHAsync(target, device, kCopyBytes, nullptr));
      CHECK(cuCtxSynchronize());
    } else {
      CHECK(cuMemcpyDtoH(target, device, kCopyBytes));
    }
    down.push_back(seconds_since(start));
  }
  compare_bytes(options, target, source, kCopyBytes);
  if (pinned) {
    CHECK(cuMemFreeHost(source));
    CHECK(cuMemFreeHost(target));
  }
  const double bytes = static_cast<double>(kCopyBytes);
  return {bytes / median(up) / 1e9, bytes / median(down) / 1e9};
}

double sync_microseconds(const Options& options, CUdeviceptr device) {
  std::vector<double> seconds;
  for (int i = 0; i < kSyncCalls; ++i) {
    unsigned int value = 0;
    const auto start = Clock::now();
    CHECK(cuMemcpyDtoH(&value, device, sizeof value));
    seconds.push_back(seconds_since(start));
  }
  return median(seconds) * 1e6;
}

struct Launches {
  double taken = 0;
  double completed = 0;
};

Launches launches(const Options& options, CUfunction kernel) {
  constexpr double kSeconds = 1;
  CHECK(cuCtxSynchronize());
  const auto start = Clock::now();
  size_t count = 0;
  double passed = 0;
  while (passed < kSeconds) {
    // The clock is asked now and then: asking costs as much as a launch may.
    for (int i = 0; i < 64; ++i)
      CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    count += 64;
    passed = seconds_since(start);
  }
  CHECK(cuCtxSynchronize());
  return {static_cast<double>(count) / passed, static_cast<double>(count) / seconds_since(start)};
}

}  // namespace

int main(int argc, char** argv) {
  double started = monotonic_milliseconds();
  bool first_only = false;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--first-only") first_only = true;
    if (name == "--started-ns" && i + 1 < argc) started = std::strtod(argv[i + 1], nullptr) / 1e6;
  }
  Options options;
  options.program = "proxy_figures";

  const CUdevice device = use_device(options);
  const CUmodule module = load_module(options, "proxy_figures");
  const CUfunction answer = get_function(options, module, "answer");
  CUdeviceptr cell = 0;
  CHECK(cuMemAlloc(&cell, sizeof(unsigned int)));
  unsigned int wanted = kAnswer, got = 0;
  void* parameters[] = {&cell, &wanted};
  CHECK(cuLaunchKernel(answer, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
  CHECK(cuMemcpyDtoH(&got, cell, sizeof got));
  const double first = monotonic_milliseconds() - started;
  if (got != kAnswer) fail(options, "the first kernel wrote %u, not %u", got, kAnswer);
  std::printf("{\"firstResultMilliseconds\":%.3f", first);

  if (!first_only) {
    CUdeviceptr buffer = 0;
    CHECK(cuMemAlloc(&buffer, kCopyBytes));
    const double sync = sync_microseconds(options, cell);
    const Launches rate = launches(options, get_function(options, module, "nothing"));
    const Rates pageable = copies(options, buffer, false);
    const Rates pinned = copies(options, buffer, true);
    CHECK(cuMemFree(buffer));
    std::printf(",\"syncMicroseconds\":%.3f,\"launchesPerSecond\":%.0f,\"completedPerSecond\":%.0f", sync,
                rate.taken, rate.completed);
    std::printf(",\"pageableToGBps\":%.4f,\"pageableFromGBps\":%.4f", pageable.to, pageable.from);
    std::printf(",\"pinnedToGBps\":%.4f,\"pinnedFromGBps\":%.4f", pinned.to, pinned.from);
  }
  std::printf("}\n");
  CHECK(cuMemFree(cell));
  CHECK(cuModuleUnload(module));
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
