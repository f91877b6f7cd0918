// The CPU's side of the samples: the same arithmetic in the same order, so
// that results are compared to the bit and not within a tolerance.
#pragma once

#include <algorithm>
#include <cmath>

#include "common/sample.h"

namespace samples {

/// Row-major n x n product; a fused multiply-add per term, k ascending, as the
/// kernels do it.
inline std::vector<float> multiply(const std::vector<float>& a, const std::vector<float>& b, size_t n) {
  std::vector<float> c(n * n, 0.0f);
  for (size_t row = 0; row < n; ++row)
    for (size_t k = 0; k < n; ++k) {
      const float left = a[row * n + k];
      for (size_t column = 0; column < n; ++column)
        c[row * n + column] = std::fmaf(left, b[k * n + column], c[row * n + column]);
    }
  return c;
}

/// Ends the program when an element of `got` isn't bit for bit that of `want`.
inline void compare(const Options& options, const char* what, const float* got, const float* want,
                    size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (std::memcmp(&got[i], &want[i], sizeof(float)) != 0)
      fail(options, "%s differs at element %zu: the GPU says %.9g, the CPU says %.9g", what, i,
           static_cast<double>(got[i]), static_cast<double>(want[i]));
}

/// Ends the program when the buffers differ, and says where.
inline void compare_bytes(const Options& options, const void* got, const void* want, size_t bytes) {
  if (std::memcmp(got, want, bytes) == 0) return;
  const auto* left = static_cast<const unsigned char*>(got);
  const auto* right = static_cast<const unsigned char*>(want);
  const size_t at = static_cast<size_t>(std::mismatch(left, left + bytes, right).first - left);
  fail(options, "byte %zu of %zu came back as %u and was sent as %u", at, bytes, left[at], right[at]);
}

/// What the reduction leaves in device memory.
struct Reduction {
  unsigned long long sum = 0;
  unsigned int maximum = 0;
  float float_sum = 0;  // of (value & 7): whole numbers below 2^24 add exactly in any order
};

inline Reduction reduce(const std::vector<unsigned int>& values) {
  Reduction result;
  for (const unsigned int value : values) {
    result.sum += value;
    result.maximum = std::max(result.maximum, value);
    result.float_sum += static_cast<float>(value & 7u);
  }
  return result;
}

inline void compare(const Options& options, const Reduction& got, const Reduction& want) {
  if (got.sum != want.sum) fail(options, "the sum is %llu, the CPU says %llu", got.sum, want.sum);
  if (got.maximum != want.maximum)
    fail(options, "the maximum is %u, the CPU says %u", got.maximum, want.maximum);
  if (got.float_sum != want.float_sum)
    fail(options, "the sum of floats is %.1f, the CPU says %.1f", static_cast<double>(got.float_sum),
         static_cast<double>(want.float_sum));
}

}  // namespace samples
