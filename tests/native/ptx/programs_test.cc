// Whole kernels as nvcc translates them (tests/ptx/compiled/*.cu), checked against the same done here.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "harness.h"

namespace sluice::ptx::test {
namespace {

std::string program(const std::string& name) {
  return read_file(std::string(SLUICE_PTX_TESTS) + "/compiled/" + name + ".ptx");
}

#define LAUNCHES(device, ...)                             \
  do {                                                    \
    const Status launched = (device).launch(__VA_ARGS__); \
    ASSERT_TRUE(launched.ok()) << launched.message;       \
  } while (false)

TEST(Programs, BlockSum) {
  Device device(program("block"));
  ASSERT_TRUE(device.status().ok()) << device.status().message;
  constexpr int kCount = 10007;
  std::vector<float> in(kCount);
  for (int i = 0; i < kCount; ++i) in[i] = static_cast<float>(i % 13);  // sums stay exact
  const uint64_t out = device.upload(std::vector<float>{0.0f});
  LAUNCHES(device, "block_sum", Params().add(device.upload(in)).add(out).add(kCount),
           {.grid = {7, 1, 1}, .block = {256, 1, 1}, .threads = 2});
  EXPECT_EQ(device.download<float>(out, 1)[0], std::accumulate(in.begin(), in.end(), 0.0f));
}

TEST(Programs, BitonicSort) {
  Device device(program("block"));
  std::mt19937 random(5);
  std::vector<uint32_t> keys(4 * 512);
  for (uint32_t& key : keys) key = static_cast<uint32_t>(random());
  const uint64_t data = device.upload(keys);
  LAUNCHES(device, "bitonic_sort", Params().add(data),
           {.grid = {4, 1, 1}, .block = {512, 1, 1}, .shared_bytes = 512 * 4});
  for (auto block = keys.begin(); block != keys.end(); block += 512) std::sort(block, block + 512);
  EXPECT_EQ(device.download<uint32_t>(data, keys.size()), keys);
}

TEST(Programs, MatrixProduct) {
  Device device(program("block"));
  constexpr int kSize = 37;  // no multiple of the tile
  std::vector<float> a(kSize * kSize), b(kSize * kSize), expected(kSize * kSize);
  for (int i = 0; i < kSize * kSize; ++i) {
    a[i] = static_cast<float>(i % 7 - 3);
    b[i] = static_cast<float>(i % 5 - 2);
  }
  for (int r = 0; r < kSize; ++r) {
    for (int c = 0; c < kSize; ++c) {
      for (int k = 0; k < kSize; ++k) expected[r * kSize + c] += a[r * kSize + k] * b[k * kSize + c];
    }
  }
  const uint64_t out = device.allocate(kSize * kSize * 4);
  LAUNCHES(device, "matrix_product", Params().add(device.upload(a)).add(device.upload(b)).add(out).add(kSize),
           {.grid = {3, 3, 1}, .block = {16, 16, 1}});
  EXPECT_EQ(device.download<float>(out, expected.size()), expected);
}

TEST(Programs, InclusiveScan) {
  Device device(program("block"));
  std::vector<int> in(1000), expected(1000);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i * 37 % 101) - 50;
  std::partial_sum(in.begin(), in.end(), expected.begin());
  const uint64_t out = device.allocate(in.size() * 4);
  LAUNCHES(device, "inclusive_scan", Params().add(device.upload(in)).add(out).add(1000),
           {.block = {1024, 1, 1}});
  EXPECT_EQ(device.download<int>(out, in.size()), expected);
}

TEST(Programs, VirtualCalls) {
  Device device(program("language"));
  ASSERT_TRUE(device.status().ok()) << device.status().message;
  const uint64_t out = device.allocate(64 * 4);
  LAUNCHES(device, "virtual_calls", Params().add(out), {.block = {64, 1, 1}});
  const auto got = device.download<float>(out, 64);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(got[i], static_cast<float>(i % 2 == 0 ? i * i : 3 * i * i)) << i;
}

uint32_t ackermann(uint32_t m, uint32_t n) {
  if (m == 0) return n + 1;
  return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

TEST(Programs, Recursion) {
  Device device(program("language"));
  const uint64_t out = device.allocate(24 * 4);
  LAUNCHES(device, "recursion", Params().add(out), {.block = {24, 1, 1}});
  const auto got = device.download<uint32_t>(out, 24);
  for (uint32_t i = 0; i < 24; ++i) EXPECT_EQ(got[i], ackermann(i % 3, i / 3)) << i;
}

TEST(Programs, FunctionTable) {
  Device device(program("language"));
  const uint64_t out = device.allocate(32 * 4);
  LAUNCHES(device, "function_table", Params().add(out));
  const auto got = device.download<int>(out, 32);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(got[i], i % 3 == 0 ? i + 7 : i % 3 == 1 ? i - 7 : i * 7);
}

TEST(Programs, LocalArray) {
  Device device(program("language"));
  std::vector<int> in(100);
  for (int i = 0; i < 100; ++i) in[i] = i * i % 23;
  const uint64_t out = device.allocate(32 * 4);
  LAUNCHES(device, "local_array", Params().add(device.upload(in)).add(out).add(100));
  const auto got = device.download<int>(out, 32);
  for (int t = 0; t < 32; ++t) {
    int counts[16] = {};
    for (const int v : in) ++counts[(v + t) & 15];
    EXPECT_EQ(got[t], std::max_element(counts, counts + 16) - counts) << t;
  }
}

TEST(Programs, Printf) {
  Device device(program("language"));
  LAUNCHES(device, "say", Params().add(42));
  EXPECT_EQ(device.printed(), "block has 42 of  2.50, x and 123456789abc\n");
}

TEST(Programs, LongDivision) {
  Device device(program("language"));
  std::vector<int64_t> a, b;
  for (const int64_t x :
       {int64_t{1}, int64_t{-7}, INT64_MAX, INT64_MIN + 1, int64_t{123456789012345}, int64_t{5}}) {
    for (const int64_t y : {int64_t{1}, int64_t{-2}, int64_t{3}, INT64_MAX, int64_t{1} << 40}) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  const uint64_t out = device.allocate(a.size() * 16);
  LAUNCHES(device, "long_division", Params().add(device.upload(a)).add(device.upload(b)).add(out),
           {.block = {static_cast<uint32_t>(a.size()), 1, 1}});
  const auto got = device.download<int64_t>(out, a.size() * 2);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(got[2 * i], a[i] / b[i]);
    EXPECT_EQ(got[2 * i + 1], a[i] % b[i]);
  }
}

int classified(int v, int i) {
  switch (v) {
    case 0:
      return 100;
    case 1:
      return 17 + i;
    case 2:
    case 3:
      return i * i;
    case 4:
      return std::popcount(static_cast<uint32_t>(i));
    case 5:
      return std::countl_zero(static_cast<uint32_t>(i + 1));
    case 6:
      return i ^ 0x55;
    case 9:
      return 9;
    default:
      return -1;
  }
}

TEST(Programs, Switch) {
  Device device(program("language"));
  std::vector<int> in(128);
  for (int i = 0; i < 128; ++i) in[i] = i * 7 % 12 - 1;
  const uint64_t out = device.allocate(128 * 4);
  LAUNCHES(device, "classify", Params().add(device.upload(in)).add(out), {.block = {128, 1, 1}});
  const auto got = device.download<int>(out, 128);
  for (int i = 0; i < 128; ++i) EXPECT_EQ(got[i], classified(in[i], i)) << i;
}

template <class T>
void expect_functions(const std::string& kernel, double tolerance) {
  Device device(program("mathematics"));
  ASSERT_TRUE(device.status().ok()) << device.status().message;
  std::vector<T> in;
  for (const double v :
       {0.0, 1.0, -1.0, 0.3, -2.5, 3.14159, 10.0, 100.5, -40.0, 1e-5, 12345.678, 1e6, 0.7, -0.02}) {
    in.push_back(static_cast<T>(v));
  }
  const auto count = static_cast<int>(in.size());
  const uint64_t out = device.allocate(in.size() * 16 * sizeof(T));
  LAUNCHES(device, kernel, Params().add(device.upload(in)).add(out).add(count),
           {.block = {static_cast<uint32_t>(count), 1, 1}});
  const auto got = device.download<T>(out, in.size() * 16);
  for (int i = 0; i < count; ++i) {
    const double v = static_cast<double>(in[i]), m = std::fabs(v);
    const double expected[] = {std::sin(v),
                               std::cos(v),
                               std::tan(v),
                               std::exp(v),
                               std::log(m),
                               std::pow(m, static_cast<double>(static_cast<T>(1.7))),
                               std::sqrt(m),
                               std::atan2(v, 2.0),
                               std::erf(v),
                               std::tanh(v),
                               std::cbrt(v),
                               std::fmod(v, static_cast<double>(static_cast<T>(0.7))),
                               std::log1p(m),
                               v / static_cast<double>(static_cast<T>(3.7)),
                               std::lgamma(static_cast<double>(static_cast<T>(m + 1.0))),
                               std::nearbyint(v)};
    for (int k = 0; k < 16; ++k) {
      const double value = static_cast<double>(got[k * count + i]);
      const double wanted = static_cast<double>(static_cast<T>(expected[k]));
      if (std::isinf(wanted)) {
        EXPECT_EQ(value, wanted) << "function " << k << " of " << v;
      } else {
        EXPECT_NEAR(value, wanted, tolerance * std::max(std::fabs(wanted), 1e-3))
            << "function " << k << " of " << v;
      }
    }
  }
}

TEST(Programs, SinglePrecisionFunctions) { expect_functions<float>("singles", 2e-6); }
TEST(Programs, DoublePrecisionFunctions) { expect_functions<double>("doubles", 4e-15); }

TEST(Programs, Halves) {
  Device device(program("mathematics"));
  const std::vector<float> in = {0.0f, 0.5f, 0.75f, 1.0f, -1.5f, 2.0f, -3.0f, 8.0f};  // exact in every format
  const uint64_t out = device.allocate(in.size() * 6 * 4);
  LAUNCHES(device, "halves", Params().add(device.upload(in)).add(out).add(8), {.block = {8, 1, 1}});
  const auto got = device.download<float>(out, in.size() * 6);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(got[i], in[i] * in[i] + 1.0f);
    EXPECT_EQ(got[8 + i], in[i] * 2.0f + 0.5f);
    EXPECT_EQ(got[16 + i], -in[i] + 0.5f);
    EXPECT_EQ(got[24 + i], in[i] * in[i] + 1.0f);
    EXPECT_EQ(got[32 + i], in[i] > 0.5f ? 1.0f : 0.0f);
    EXPECT_EQ(got[40 + i], in[i]);
  }
}

TEST(Programs, Histogram) {
  Device device(program("together"));
  ASSERT_TRUE(device.status().ok()) << device.status().message;
  std::vector<uint8_t> in(50000);
  std::vector<uint32_t> expected(256);
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<uint8_t>(i * i >> 3);
    ++expected[in[i]];
  }
  const uint64_t bins = device.upload(std::vector<uint32_t>(256, 0));
  LAUNCHES(device, "histogram", Params().add(device.upload(in)).add(bins).add(50000),
           {.grid = {8, 1, 1}, .block = {128, 1, 1}, .threads = 2});
  EXPECT_EQ(device.download<uint32_t>(bins, 256), expected);
}

TEST(Programs, CoalescedGroups) {
  Device device(program("together"));
  std::vector<int> in(2000), expected;
  for (int i = 0; i < 2000; ++i) {
    in[i] = i * 7 % 1000;
    if (in[i] % 3 == 0) expected.push_back(in[i]);
  }
  const uint64_t out = device.allocate(in.size() * 4), count = device.upload(std::vector<int>{0});
  LAUNCHES(device, "compact", Params().add(device.upload(in)).add(out).add(count).add(2000),
           {.grid = {16, 1, 1}, .block = {128, 1, 1}, .threads = 2});
  ASSERT_EQ(device.download<int>(count, 1)[0], static_cast<int>(expected.size()));
  auto got = device.download<int>(out, expected.size());
  std::sort(got.begin(), got.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(got, expected);
}

TEST(Programs, Tiles) {
  Device device(program("together"));
  std::vector<int> in(64);
  for (int i = 0; i < 64; ++i) in[i] = i * 5 % 17;
  const uint64_t out = device.allocate(64 * 4);
  LAUNCHES(device, "tiles", Params().add(device.upload(in)).add(out), {.block = {64, 1, 1}});
  const auto got = device.download<int>(out, 64);
  for (int i = 0; i < 64; ++i) {
    int sum = 0, odd = 0;
    for (int k = 0; k < 8; ++k) {
      sum += in[i / 8 * 8 + k];
      odd |= (in[i / 8 * 8 + k] & 1) << k;
    }
    EXPECT_EQ(got[i], sum * 256 + odd) << i;
  }
}

TEST(Programs, MatchAndReduce) {
  Device device(program("together"));
  std::vector<int> in(32);
  for (int i = 0; i < 32; ++i) in[i] = i * i % 5;
  const uint64_t out = device.allocate(64 * 4);
  LAUNCHES(device, "matches", Params().add(device.upload(in)).add(out));
  const auto got = device.download<uint32_t>(out, 64);
  for (int i = 0; i < 32; ++i) {
    uint32_t same = 0;
    for (int k = 0; k < 32; ++k) same |= static_cast<uint32_t>(in[k] == in[i] ? 1u : 0u) << k;
    EXPECT_EQ(got[i], same);
    EXPECT_EQ(got[i + 32], static_cast<uint32_t>(std::accumulate(in.begin(), in.end(), 0)));
  }
}

TEST(Programs, GridBarrier) {
  Device device(program("together"));
  constexpr int kCount = 777, kSteps = 6;
  std::vector<float> a(kCount), b(kCount);
  for (int i = 0; i < kCount; ++i) a[i] = static_cast<float>(i * 31 % 64);
  const uint64_t da = device.upload(a), db = device.allocate(kCount * 4);
  LAUNCHES(device, "relax", Params().add(da).add(db).add(kCount).add(kSteps),
           {.grid = {4, 1, 1}, .block = {64, 1, 1}, .threads = 2, .cooperative = true});
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < kCount; ++i) {
      b[i] = 0.25f * a[(i + kCount - 1) % kCount] + 0.5f * a[i] + 0.25f * a[(i + 1) % kCount];
    }
    std::swap(a, b);
  }
  EXPECT_EQ(device.download<float>(da, kCount), a);
}

TEST(Programs, LockInGlobalMemory) {
  Device device(program("together"));
  const uint64_t lock = device.upload(std::vector<int>{0}), counter = device.upload(std::vector<int>{0});
  LAUNCHES(device, "locked", Params().add(lock).add(counter),
           {.grid = {4, 1, 1}, .block = {64, 1, 1}, .threads = 2});
  EXPECT_EQ(device.download<int>(counter, 1)[0], 256);
}

}  // namespace
}  // namespace sluice::ptx::test
