#include "client/doctor/measure.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

namespace sluice::doctor {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kPtx = R"(
.version 7.0
.target sm_50
.address_size 64
.visible .entry triple(.param .u64 values)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [values];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  mul.lo.u32 %r2, %r1, 3;
  st.global.u32 [%rd3], %r2;
  ret;
}
)";

constexpr unsigned kThreads = 64;
constexpr size_t kCopyBytes = size_t{64} << 20;
// More than is sent without asking first whether the server knows it.
constexpr size_t kImageBytes = size_t{1} << 20;
constexpr int kRoundTrips = 200;
constexpr int kCopies = 4;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class DeviceMemory {
 public:
  DeviceMemory(Driver& driver, size_t bytes) : driver_(driver) {
    check(driver.find<decltype(&cuMemAlloc_v2)>("cuMemAlloc")(&address, bytes), "cuMemAlloc");
  }
  ~DeviceMemory() { driver_.find<decltype(&cuMemFree_v2)>("cuMemFree")(address); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  CUdeviceptr address{};

 private:
  Driver& driver_;
};

std::string kernel(Driver& driver) {
  CUlibrary library{};
  CUkernel triple{};
  check(driver.find<decltype(&cuLibraryLoadData)>("cuLibraryLoadData")(&library, kPtx, nullptr, nullptr, 0,
                                                                       nullptr, nullptr, 0),
        "cuLibraryLoadData");
  check(driver.find<decltype(&cuLibraryGetKernel)>("cuLibraryGetKernel")(&triple, library, "triple"),
        "cuLibraryGetKernel");
  const DeviceMemory memory(driver, kThreads * sizeof(uint32_t));
  CUdeviceptr address = memory.address;
  void* arguments[] = {&address};
  check(driver.find<decltype(&cuLaunchKernel)>("cuLaunchKernel")(
            reinterpret_cast<CUfunction>(triple), 1, 1, 1, kThreads, 1, 1, 0, nullptr, arguments, nullptr),
        "cuLaunchKernel");
  std::vector<uint32_t> back(kThreads);
  check(driver.find<decltype(&cuMemcpyDtoH_v2)>("cuMemcpyDtoH")(back.data(), memory.address,
                                                                kThreads * sizeof(uint32_t)),
        "cuMemcpyDtoH");
  for (uint32_t i = 0; i < kThreads; i++) {
    if (back[i] != 3 * i) fail("The kernel's result is wrong.");
  }
  check(driver.find<decltype(&cuLibraryUnload)>("cuLibraryUnload")(library), "cuLibraryUnload");
  return "A kernel ran, and its result is right.";
}

// The median of reading back four bytes: it cannot be answered without the server.
std::string round_trip(Steps& steps, Driver& driver) {
  const DeviceMemory memory(driver, sizeof(uint32_t));
  const auto read = driver.find<decltype(&cuMemcpyDtoH_v2)>("cuMemcpyDtoH");
  std::vector<double> times;
  uint32_t value = 0;
  for (int i = 0; i < kRoundTrips; i++) {
    const auto begin = Clock::now();
    check(read(&value, memory.address, sizeof value), "cuMemcpyDtoH");
    times.push_back(seconds_since(begin));
  }
  std::nth_element(times.begin(), times.begin() + kRoundTrips / 2, times.end());
  const double microseconds = times[kRoundTrips / 2] * 1e6;
  steps.value("roundTripMicroseconds", json::Value(microseconds));
  char text[64];
  std::snprintf(text, sizeof text, "%.0f µs from a call to its answer.", microseconds);
  return text;
}

// The best of a few, of bytes that cannot be compressed.
std::string bandwidth(Steps& steps, Driver& driver) {
  std::vector<uint64_t> data(kCopyBytes / sizeof(uint64_t));
  std::mt19937_64 random(1);
  for (uint64_t& word : data) word = random();
  std::vector<uint64_t> back(data.size());
  const DeviceMemory memory(driver, kCopyBytes);
  double best_to = 0;
  double best_back = 0;
  for (int i = 0; i < kCopies; i++) {
    auto begin = Clock::now();
    check(driver.find<decltype(&cuMemcpyHtoD_v2)>("cuMemcpyHtoD")(memory.address, data.data(), kCopyBytes),
          "cuMemcpyHtoD");
    check(driver.find<decltype(&cuCtxSynchronize)>("cuCtxSynchronize")(), "cuCtxSynchronize");
    best_to = std::max(best_to, static_cast<double>(kCopyBytes) / seconds_since(begin));
    begin = Clock::now();
    check(driver.find<decltype(&cuMemcpyDtoH_v2)>("cuMemcpyDtoH")(back.data(), memory.address, kCopyBytes),
          "cuMemcpyDtoH");
    best_back = std::max(best_back, static_cast<double>(kCopyBytes) / seconds_since(begin));
  }
  if (back != data) fail("64 MiB came back different from what was sent.");
  steps.value("bytesPerSecondToDevice", json::Value(best_to));
  steps.value("bytesPerSecondToHost", json::Value(best_back));
  char text[96];
  std::snprintf(text, sizeof text, "%.2f GB/s to the GPU, %.2f GB/s back (64 MiB, equal after the way).",
                best_to / 1e9, best_back / 1e9);
  return text;
}

// Loads an image that no server has seen, and once more.
std::string image_cache(Steps& steps, Driver& driver) {
  std::string image = "// ";
  std::random_device seed;
  std::mt19937_64 random(uint64_t{seed()} << 32 | seed());
  while (image.size() < kImageBytes) image += "0123456789abcdef"[random() % 16];
  image += kPtx;
  double times[2];
  for (double& time : times) {
    CUmodule module{};
    const auto begin = Clock::now();
    check(driver.find<decltype(&cuModuleLoadData)>("cuModuleLoadData")(&module, image.c_str()),
          "cuModuleLoadData");
    time = seconds_since(begin);
    check(driver.find<decltype(&cuModuleUnload)>("cuModuleUnload")(module), "cuModuleUnload");
  }
  steps.value("moduleLoadMilliseconds", json::Value(times[0] * 1e3));
  steps.value("knownModuleLoadMilliseconds", json::Value(times[1] * 1e3));
  char text[96];
  std::snprintf(text, sizeof text, "A module of 1 MiB loads in %.1f ms, once the server knows it in %.1f ms.",
                times[0] * 1e3, times[1] * 1e3);
  return text;
}

}  // namespace

void run_measurements(Steps& steps, Driver& driver) {
  steps.step("kernel", [&] { return kernel(driver); });
  steps.step("round trip", [&] { return round_trip(steps, driver); });
  steps.step("bandwidth", [&] { return bandwidth(steps, driver); });
  steps.step("image cache", [&] { return image_cache(steps, driver); });
}

}  // namespace sluice::doctor
