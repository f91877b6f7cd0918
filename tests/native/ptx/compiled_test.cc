// What nvcc makes of real kernels (tests/ptx/compiled), against the CPU.
#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"

namespace sluice::ptx::test {
namespace {

class Compiled : public testing::TestWithParam<std::string> {
 protected:
  Compiled()
      : device_(read_file(std::string(SLUICE_PTX_TESTS) + "/compiled/kernels_" + GetParam() + ".ptx")) {}
  void SetUp() override { ASSERT_TRUE(device_.status().ok()) << device_.status().message; }
  void launch(const char* kernel, const Params& params, const Shape& shape) {
    const Status status = device_.launch(kernel, params, shape);
    ASSERT_TRUE(status.ok()) << status.message;
  }
  Device device_;
};

Shape shape_of(Dim3 grid, Dim3 block) {
  Shape shape;
  shape.grid = grid;
  shape.block = block;
  shape.threads = 2;
  return shape;
}

TEST_P(Compiled, TiledProduct) {
  constexpr int kSize = 64;
  std::vector<float> a(kSize * kSize), b(kSize * kSize);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i * 7 % 13) - 6;
    b[i] = static_cast<float>(i * 5 % 11) - 5;
  }
  const uint64_t c = device_.allocate(a.size() * 4);
  launch("tiled", Params().add(device_.upload(a)).add(device_.upload(b)).add(c).add(kSize),
         shape_of({kSize / 16, kSize / 16, 1}, {16, 16, 1}));
  const std::vector<float> got = device_.download<float>(c, a.size());
  for (int row = 0; row < kSize; ++row) {
    for (int col = 0; col < kSize; ++col) {
      float sum = 0;
      for (int k = 0; k < kSize; ++k)
        sum += a[static_cast<size_t>(row * kSize + k)] * b[static_cast<size_t>(k * kSize + col)];
      ASSERT_EQ(got[static_cast<size_t>(row * kSize + col)], sum);
    }
  }
}

TEST_P(Compiled, ReductionAndHistogram) {
  std::vector<int> in(10007);
  long long sum = 0;
  std::vector<int> bins(16);
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<int>(static_cast<uint32_t>(i) * 2654435761u >> 12) - 500000;
    sum += in[i];
    ++bins[static_cast<size_t>(in[i] & 15)];
  }
  const uint64_t out = device_.upload(std::vector<long long>{0}),
                 histogram = device_.upload(std::vector<int>(16));
  Shape shape = shape_of({7, 1, 1}, {160, 1, 1});
  shape.shared_bytes = 64;
  launch("reduce", Params().add(device_.upload(in)).add(out).add(histogram).add(static_cast<int>(in.size())),
         shape);
  EXPECT_EQ(device_.download<long long>(out, 1)[0], sum);
  EXPECT_EQ(device_.download<int>(histogram, 16), bins);
}

void expect_near(double got, double want, double ulps, double epsilon, int which, double x) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << which << " of " << x;
  } else if (std::isinf(want)) {
    EXPECT_EQ(got, want) << which << " of " << x;
  } else {
    EXPECT_LE(std::fabs(got - want), std::fabs(want) * epsilon * ulps + 1e-300) << which << " of " << x;
  }
}

// Within the errors that the CUDA programming guide states for the functions.
TEST_P(Compiled, SinglePrecisionFunctions) {
  std::vector<float> x;
  for (int i = 0; i < 60; ++i) x.push_back(0.05f + 0.37f * static_cast<float>(i));
  x.insert(x.end(), {1e6f, 123456.7f, 1e-20f, 88.0f});
  const auto n = static_cast<int>(x.size());
  const uint64_t out = device_.allocate(x.size() * 12 * 4);
  launch("maths", Params().add(device_.upload(x)).add(out).add(n), shape_of({1, 1, 1}, {128, 1, 1}));
  const std::vector<float> got = device_.download<float>(out, x.size() * 12);
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = static_cast<double>(x[i]);
    const double want[12] = {std::sin(v),
                             std::cos(v),
                             std::exp(v),
                             std::log(v),
                             std::pow(v, static_cast<double>(1.3f)),
                             std::tanh(v),
                             std::sqrt(v),
                             std::fmod(v, static_cast<double>(0.7f)),
                             v / static_cast<double>(3.1f),
                             std::erf(v),
                             std::cbrt(v),
                             1 / std::sqrt(v)};
    for (int k = 0; k < 12; ++k) {
      const auto rounded = static_cast<double>(static_cast<float>(want[k]));
      expect_near(static_cast<double>(got[i * 12 + static_cast<size_t>(k)]), rounded, 9, 0x1p-23, k, v);
    }
  }
}

TEST_P(Compiled, DoublePrecisionFunctions) {
  std::vector<double> x;
  for (int i = 0; i < 60; ++i) x.push_back(0.05 + 1.37 * i);
  x.insert(x.end(), {1e10, 1e-200, 700.0, 1e5});
  const uint64_t out = device_.allocate(x.size() * 8 * 8);
  launch("doubles", Params().add(device_.upload(x)).add(out).add(static_cast<int>(x.size())),
         shape_of({1, 1, 1}, {64, 1, 1}));
  const std::vector<double> got = device_.download<double>(out, x.size() * 8);
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const double want[8] = {std::sin(v),  std::exp(v), std::log(v), std::pow(v, 1.7),
                            std::sqrt(v), v / 3.3,     std::erf(v), std::atan2(v, 2.0)};
    for (int k = 0; k < 8; ++k) expect_near(got[i * 8 + static_cast<size_t>(k)], want[k], 3, 0x1p-52, k, v);
  }
}

TEST_P(Compiled, ArraysSwitchesAndOddIntegers) {
  constexpr int kCount = 96;
  std::vector<int> in(kCount);
  for (int i = 0; i < kCount; ++i)
    in[static_cast<size_t>(i)] = static_cast<int>(static_cast<uint32_t>(i) * 2654435761u >> 7);
  const uint64_t out = device_.allocate(kCount * 8);
  launch("mixed", Params().add(device_.upload(in)).add(out).add(kCount), shape_of({1, 1, 1}, {kCount, 1, 1}));
  const std::vector<long long> got = device_.download<long long>(out, kCount);
  for (int i = 0; i < kCount; ++i) {
    int a[16];
    for (int k = 0; k < 16; ++k)
      a[k] = static_cast<int>(static_cast<uint32_t>(in[static_cast<size_t>((i + k) % kCount)]) *
                              static_cast<uint32_t>(k));
    const int v = in[static_cast<size_t>(i)];
    const auto u = static_cast<uint32_t>(v);
    uint32_t reversed = 0;
    for (int k = 0; k < 32; ++k) reversed |= (u >> k & 1) << (31 - k);
    long long r = 0;
    switch (v & 7) {
      case 0:
        r = a[v & 15];
        break;
      case 1:
        r = static_cast<long long>(v) * v;
        break;
      case 2:
        r = v / 7;
        break;
      case 3:
        r = a[3] ^ a[(i * 7) & 15];
        break;
      case 4:
        r = static_cast<uint32_t>(__builtin_popcount(u) + (u == 0 ? 32 : __builtin_clz(u))) + reversed;
        break;
      case 5:
        r = static_cast<int16_t>(v) >> 3;
        break;
      case 6:
        r = static_cast<long long>(static_cast<unsigned long long>(v) * 0x9e3779b97f4a7c15ull >> 7);
        break;
      default:
        r = static_cast<uint32_t>(v % 13) + static_cast<uint32_t>(uint64_t{u} * 12345 >> 32);
    }
    EXPECT_EQ(got[static_cast<size_t>(i)], r) << i << " case " << (v & 7);
  }
}

TEST_P(Compiled, Recursion) {
  const uint64_t out = device_.allocate(64 * 4);
  launch("recursion", Params().add(out).add(12), shape_of({1, 1, 1}, {64, 1, 1}));
  const std::vector<int> got = device_.download<int>(out, 64);
  int expected[12] = {0, 1};
  for (int i = 2; i < 12; ++i) expected[i] = expected[i - 1] + expected[i - 2];
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(got[i], expected[i % 12]);
}

TEST_P(Compiled, Halves) {
  const uint64_t a = device_.upload(std::vector<uint16_t>(32, 0x3c00)),
                 b = device_.upload(std::vector<uint32_t>(32, 0x40003c00)),
                 c = device_.upload(std::vector<uint16_t>(32, 0x4000));
  launch("halves", Params().add(a).add(b).add(c), shape_of({1, 1, 1}, {32, 1, 1}));
  EXPECT_EQ(device_.download<uint16_t>(a, 32)[31], 0x4100);       // 1 + 1.5
  EXPECT_EQ(device_.download<uint32_t>(b, 32)[31], 0x46004000u);  // 2*2+2, 1*1+1
  EXPECT_EQ(device_.download<uint16_t>(c, 32)[31], 0x40c0);       // 2 * 3
}

TEST_P(Compiled, GridWideBarrier) {
  const uint64_t p = device_.allocate(8 * 64 * 4);
  Shape shape = shape_of({8, 1, 1}, {64, 1, 1});
  shape.cooperative = true;
  launch("grid", Params().add(p), shape);
  for (const int v : device_.download<int>(p, 512)) ASSERT_EQ(v, 512);
}

TEST_P(Compiled, PrintAndAssert) {
  launch("print", Params().add(5), shape_of({1, 1, 1}, {2, 1, 1}));
  EXPECT_EQ(device_.printed(),
            "thread 0 of 2: text  7.50 c 123456789abc%\nthread 1 of 2: text  7.50 c 123456789abc%\n");
  const Status status = device_.launch("print", Params().add(500), shape_of({1, 1, 1}, {1, 1, 1}));
  EXPECT_EQ(status.code, CUDA_ERROR_ASSERT);
  EXPECT_NE(device_.printed().find("Assertion `v < 100` failed."), std::string::npos) << device_.printed();
}

TEST_P(Compiled, Heap) {
  const uint64_t out = device_.allocate(64 * 4);
  launch("heap", Params().add(out), shape_of({1, 1, 1}, {64, 1, 1}));
  const std::vector<int> got = device_.download<int>(out, 64);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(got[static_cast<size_t>(i)], 16 * i + 120);
}

INSTANTIATE_TEST_SUITE_P(Targets, Compiled, testing::Values("75", "90"),
                         [](const auto& target) { return "compute_" + target.param; });

}  // namespace
}  // namespace sluice::ptx::test
