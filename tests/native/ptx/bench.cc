// Thread-instructions per second on kernels of different kinds. Not a test: prints figures.
//   ptx_bench [host threads]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "harness.h"

namespace sluice::ptx::test {
namespace {

using Clock = std::chrono::steady_clock;

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// The best of three: wall time, and the processor time of all host threads together.
struct Time {
  double wall = 1e9;
  double processor = 1e9;
};
Time time_of(Device& device, const char* kernel, const Params& params, const Shape& shape) {
  Time best;
  for (int k = 0; k < 3; ++k) {
    const auto start = Clock::now();
    const double before = processor_seconds();
    const Status status = device.launch(kernel, params, shape);
    if (!status.ok()) {
      std::fprintf(stderr, "%s: %s\n", kernel, status.message.c_str());
      std::exit(1);
    }
    best.wall = std::min(best.wall, std::chrono::duration<double>(Clock::now() - start).count());
    best.processor = std::min(best.processor, processor_seconds() - before);
  }
  return best;
}

// The plain loop that a person would write, on one thread.
double plain_product(const std::vector<float>& a, const std::vector<float>& b, std::vector<float>& c,
                     size_t n) {
  const auto start = Clock::now();
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < n; ++k) {
      for (size_t j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

const char* const kSimple = R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry empty() { ret; }
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %rd<6>; .reg .f32 %f<5>;
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r1, %r1, %r2, %r3;
  ld.param.u32 %r4, [n]; setp.ge.u32 %p, %r1, %r4; @%p bra END;
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.f32 %f1, [a];
  mul.wide.u32 %rd3, %r1, 4; add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;
  ld.global.f32 %f2, [%rd1]; ld.global.f32 %f3, [%rd2]; fma.rn.f32 %f4, %f1, %f2, %f3; st.global.f32 [%rd2], %f4;
  END: ret;
}
)";

int run(int threads) {
  constexpr uint32_t kSize = 512;
  Device product(read_file(std::string(SLUICE_PTX_TESTS) + "/compiled/kernels_75.ptx"));
  std::vector<float> a(kSize * kSize, 1.5f), b(kSize * kSize, 0.5f), c(kSize * kSize);
  const uint64_t pa = product.upload(a), pb = product.upload(b), pc = product.upload(c);
  Shape shape;
  shape.grid = {kSize / 16, kSize / 16, 1};
  shape.block = {16, 16, 1};
  shape.threads = threads;
  const Time tiled =
      time_of(product, "tiled", Params().add(pa).add(pb).add(pc).add(static_cast<int>(kSize)), shape);
  // Counted in the PTX: per tile of 16, 48 instructions of the product, two loads, two stores, two
  // barriers and the loop's seven.
  const double instructions = double{kSize} * kSize * (kSize / 16.0) * (48 + 6 + 7);
  std::printf(
      "tiled product 512^3    %8.1f ms  %8.1f M thread-instructions/s on %d threads, %.1f M per core\n",
      tiled.wall * 1e3, instructions / tiled.wall / 1e6, threads, instructions / tiled.processor / 1e6);
  std::printf("  plain C++ loop       %8.1f ms\n", plain_product(a, b, c, kSize) * 1e3);

  Device simple(kSimple);
  constexpr uint32_t kElements = 16u << 20;
  const std::vector<float> ones(kElements, 1.0f);
  const uint64_t x = simple.upload(ones), y = simple.upload(ones);
  shape.grid = {kElements / 256, 1, 1};
  shape.block = {256, 1, 1};
  const Time saxpy = time_of(simple, "saxpy", Params().add(x).add(y).add(2.0f).add(kElements), shape);
  std::vector<float> copy(kElements);
  const auto start = Clock::now();
  std::memcpy(copy.data(), ones.data(), kElements * 4);
  const double copied = std::chrono::duration<double>(Clock::now() - start).count();
  std::printf("saxpy of 16 Mi         %8.1f ms  %8.2f GB/s; memcpy moves %.2f GB/s\n", saxpy.wall * 1e3,
              kElements * 12.0 / saxpy.wall / 1e9, kElements * 8.0 / copied / 1e9);

  constexpr int kLaunches = 20000;
  const auto first = Clock::now();
  for (int k = 0; k < kLaunches; ++k) simple.launch("empty", {}, {});
  const double launch = std::chrono::duration<double>(Clock::now() - first).count() / kLaunches;
  std::printf("empty kernel           %8.2f us per launch\n", launch * 1e6);
  return 0;
}

}  // namespace
}  // namespace sluice::ptx::test

int main(int argc, char** argv) { return sluice::ptx::test::run(argc > 1 ? std::atoi(argv[1]) : 1); }
