// What a driver API program gets from its GPU, however that is reached: one figure per run. Prints one line
// of JSON; times are medians within the process.
//   sync                   us of a 4-byte copy from the device, which always has to wait for an answer
//   launch                 taken and completed: empty kernels a second, as the caller sees them and with the
//   wait launch4 --count N      N launches with four arguments, for whoever counts the bytes objects us of
//   event and of stream create + destroy, function look-up, attribute set allocate               us of
//   cuMemAlloc + cuMemFree of 1 MiB copy [--kib N] [--times N] [--pinned] [--compare]    to and from: GB/s,
//   random bytes; pinned copies are asynchronous small                  us of a 64-byte synchronous copy to
//   the device, many in a row load --count N         N loads of one image after a first one: us each step
//   --count N us of a training step: 600 KiB in, 300 launches, 4 bytes out, synchronize first [--started-ns
//   N] ms from then (CLOCK_MONOTONIC), or from its own start, to the first completed launch lives start: ms
//   from fork to the first completed launch of a new process; exit: from there to its end
#include <sys/wait.h>

#include <ctime>

#include "bench/figures.h"
#include "common/checks.h"
#include "driver/driver_sample.h"

using namespace samples;

namespace {

struct Arguments {
  std::string figure;
  size_t count = 0, times = 0;
  size_t kib = 64 << 10;
  bool pinned = false, compare = false;
  double started_ms = 0;
};

double monotonic_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// Microseconds of one `body()`: the median of `batches` batches of `size`.
template <typename Body>
double microseconds(int batches, int size, Body&& body) {
  std::vector<double> seconds;
  for (int i = 0; i < batches; ++i) {
    const auto start = Clock::now();
    for (int j = 0; j < size; ++j) body();
    seconds.push_back(seconds_since(start) / size);
  }
  return median(seconds) * 1e6;
}

struct Gpu {
  explicit Gpu(const Options& with) : options(with), device(use_device(with)) {
    module = load_module(options, "proxy_figures");
    nothing = get_function(options, module, "nothing");
    four = get_function(options, module, "four");
  }
  void launch() { CHECK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr)); }
  CUdeviceptr memory(size_t bytes) {
    CUdeviceptr address = 0;
    CHECK(cuMemAlloc(&address, bytes));
    return address;
  }

  const Options& options;
  CUdevice device;
  CUmodule module = nullptr;
  CUfunction nothing = nullptr, four = nullptr;
};

void sync(Gpu& gpu) {
  const Options& options = gpu.options;
  const CUdeviceptr cell = gpu.memory(4);
  unsigned int value = 0;
  std::printf("{\"us\":%.3f}\n",
              microseconds(3000, 1, [&] { CHECK(cuMemcpyDtoH(&value, cell, sizeof value)); }));
}

void launch(Gpu& gpu) {
  constexpr double kSeconds = 1;
  const Options& options = gpu.options;
  CHECK(cuCtxSynchronize());
  const auto start = Clock::now();
  size_t count = 0;
  double passed = 0;
  while (passed < kSeconds) {
    // The clock is asked now and then: asking costs as much as a launch may.
    for (int i = 0; i < 256; ++i) gpu.launch();
    count += 256;
    passed = seconds_since(start);
  }
  const double taken = static_cast<double>(count) / passed;
  CHECK(cuCtxSynchronize());
  std::printf("{\"taken\":%.0f,\"completed\":%.0f}\n", taken,
              static_cast<double>(count) / seconds_since(start));
}

void launch4(Gpu& gpu, size_t count) {
  const Options& options = gpu.options;
  CUdeviceptr a = gpu.memory(4096), b = a + 1024, c = a + 2048;
  unsigned int n = 256;
  void* parameters[] = {&a, &b, &c, &n};
  for (size_t i = 0; i < count; ++i)
    CHECK(cuLaunchKernel(gpu.four, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
  CHECK(cuCtxSynchronize());
  std::printf("{}\n");
}

void objects(Gpu& gpu) {
  constexpr int kMaxDynamicSharedBytes = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  const Options& options = gpu.options;
  const double event = microseconds(20, 1000, [&] {
    CUevent made = nullptr;
    CHECK(cuEventCreate(&made, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventDestroy(made));
  });
  CHECK(cuCtxSynchronize());
  const double stream = microseconds(20, 100, [&] {
    CUstream made = nullptr;
    CHECK(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamDestroy(made));
  });
  CHECK(cuCtxSynchronize());
  const double look_up = microseconds(20, 1000, [&] {
    CUfunction found = nullptr;
    CHECK(cuModuleGetFunction(&found, gpu.module, "four"));
  });
  int bytes = 0;
  const double attribute = microseconds(20, 1000, [&] {
    bytes = bytes == 1024 ? 2048 : 1024;
    CHECK(cuFuncSetAttribute(gpu.four, kMaxDynamicSharedBytes, bytes));
  });
  std::printf("{\"event\":%.3f,\"stream\":%.3f,\"lookUp\":%.3f,\"attribute\":%.3f}\n", event, stream, look_up,
              attribute);
}

void allocate(Gpu& gpu) {
  const Options& options = gpu.options;
  std::printf("{\"us\":%.3f}\n", microseconds(1000, 1, [&] { CHECK(cuMemFree(gpu.memory(1 << 20))); }));
}

void copy(Gpu& gpu, const Arguments& arguments) {
  const Options& options = gpu.options;
  const size_t bytes = arguments.kib << 10;
  const size_t repetitions = arguments.times > 0 ? arguments.times : bytes > (8u << 20) ? 7 : 40;
  const CUdeviceptr device = gpu.memory(bytes);
  void *source = nullptr, *target = nullptr;
  std::vector<unsigned char> pageable_source, pageable_target;
  if (arguments.pinned) {
    CHECK(cuMemAllocHost(&source, bytes));
    CHECK(cuMemAllocHost(&target, bytes));
  } else {
    pageable_source.resize(bytes);
    pageable_target.resize(bytes);
    source = pageable_source.data();
    target = pageable_target.data();
  }
  Random(12).fill(source, bytes);
  std::memset(target, 1, bytes);
  std::vector<double> up, down;
  for (size_t i = 0; i < repetitions; ++i) {
    auto start = Clock::now();
    if (arguments.pinned) {
      CHECK(cuMemcpyHtoDAsync(device, source, bytes, nullptr));
    } else {
      CHECK(cuMemcpyHtoD(device, source, bytes));
    }
    CHECK(cuCtxSynchronize());
    up.push_back(seconds_since(start));
    start = Clock::now();
    if (arguments.pinned) {
      CHECK(cuMemcpyDtoHAsync(target, device, bytes, nullptr));
      CHECK(cuCtxSynchronize());
    } else {
      CHECK(cuMemcpyDtoH(target, device, bytes));
    }
    down.push_back(seconds_since(start));
  }
  if (arguments.compare) compare_bytes(options, target, source, bytes);
  const double size = static_cast<double>(bytes);
  std::printf("{\"to\":%.4f,\"from\":%.4f}\n", size / median(up) / 1e9, size / median(down) / 1e9);
}

void small(Gpu& gpu) {
  const Options& options = gpu.options;
  const CUdeviceptr device = gpu.memory(64);
  unsigned char source[64];
  Random(3).fill(source, sizeof source);
  const double us = microseconds(20, 2000, [&] { CHECK(cuMemcpyHtoD(device, source, sizeof source)); });
  CHECK(cuCtxSynchronize());
  std::printf("{\"us\":%.4f}\n", us);
}

/// An image large enough to be asked for by its hash. The comment makes it this benchmark's own.
void load(Gpu& gpu, size_t count) {
  const Options& options = gpu.options;
  std::string image =
      ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry nothing() { ret; }\n// ";
  image.append(256 << 10, 'x').append("\n");
  std::vector<double> seconds;
  for (size_t i = 0; i <= count; ++i) {
    CUmodule module = nullptr;
    const auto start = Clock::now();
    CHECK(cuModuleLoadData(&module, image.c_str()));
    if (i > 0) seconds.push_back(seconds_since(start));
    CHECK(cuModuleUnload(module));
  }
  std::printf("{\"us\":%.3f}\n", median(seconds) * 1e6);
}

void step(Gpu& gpu, size_t count) {
  constexpr size_t kBatch = 600 << 10;
  constexpr int kLaunches = 300;
  const Options& options = gpu.options;
  const CUdeviceptr device = gpu.memory(kBatch);
  std::vector<unsigned char> batch(kBatch);
  Random(5).fill(batch.data(), kBatch);
  std::vector<double> seconds;
  for (size_t i = 0; i < count; ++i) {
    float loss = 0;
    const auto start = Clock::now();
    CHECK(cuMemcpyHtoD(device, batch.data(), kBatch));
    for (int j = 0; j < kLaunches; ++j) gpu.launch();
    CHECK(cuMemcpyDtoH(&loss, device, sizeof loss));
    CHECK(cuCtxSynchronize());
    seconds.push_back(seconds_since(start));
  }
  std::printf("{\"us\":%.3f}\n", median(seconds) * 1e6);
}

/// Milliseconds from the start to the first completed launch.
double first(const Options& options, double started_ms) {
  Gpu gpu(options);
  gpu.launch();
  CHECK(cuCtxSynchronize());
  return monotonic_milliseconds() - started_ms;
}

/// Starts this program anew five times; medians of both ends of its life.
void lives() {
  std::vector<double> starts, exits;
  for (int i = 0; i < 5; ++i) {
    int ends[2];
    if (pipe(ends) != 0) std::exit(1);
    const std::string started = std::to_string(static_cast<long long>(monotonic_milliseconds() * 1e6));
    const pid_t child = fork();
    if (child == 0) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
      execl("/proc/self/exe", "proxy_figures", "first", "--started-ns", started.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    double start = 0, end = 0;
    FILE* said = fdopen(ends[0], "r");
    const bool read = std::fscanf(said, "{\"ms\":%lf,\"end\":%lf}", &start, &end) == 2;
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0 || !read) std::exit(1);
    exits.push_back(monotonic_milliseconds() - end);
    starts.push_back(start);
    std::fclose(said);
  }
  std::printf("{\"start\":%.3f,\"exit\":%.3f}\n", median(starts), median(exits));
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  arguments.started_ms = monotonic_milliseconds();
  if (argc > 1) arguments.figure = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--pinned") arguments.pinned = true;
    if (name == "--compare") arguments.compare = true;
    if (i + 1 == argc) break;
    if (name == "--count") arguments.count = std::strtoul(argv[i + 1], nullptr, 10);
    if (name == "--times") arguments.times = std::strtoul(argv[i + 1], nullptr, 10);
    if (name == "--kib") arguments.kib = std::strtoul(argv[i + 1], nullptr, 10);
    if (name == "--started-ns") arguments.started_ms = std::strtod(argv[i + 1], nullptr) / 1e6;
  }
  Options options;
  options.program = "proxy_figures";
  const std::string& figure = arguments.figure;

  if (figure == "lives") {
    lives();
    return 0;
  }
  if (figure == "first") {
    const double ms = first(options, arguments.started_ms);
    std::printf("{\"ms\":%.3f,\"end\":%.6f}\n", ms, monotonic_milliseconds());
    std::fflush(stdout);
    return 0;
  }
  Gpu gpu(options);
  if (figure == "sync")
    sync(gpu);
  else if (figure == "launch")
    launch(gpu);
  else if (figure == "launch4")
    launch4(gpu, arguments.count);
  else if (figure == "objects")
    objects(gpu);
  else if (figure == "allocate")
    allocate(gpu);
  else if (figure == "copy")
    copy(gpu, arguments);
  else if (figure == "small")
    small(gpu);
  else if (figure == "load")
    load(gpu, arguments.count);
  else if (figure == "step")
    step(gpu, arguments.count);
  else
    fail(options, "there is no figure \"%s\"", figure.c_str());
  return 0;
}
