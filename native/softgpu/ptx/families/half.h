// f16 and bf16 as bit patterns, converted by integer arithmetic: exact for every rounding mode and the
// same on every host.
#pragma once

#include <bit>
#include <cstdint>

#include "softgpu/ptx/families/lanes.h"

namespace sluice::ptx::SLUICE_PTX_ISA {
namespace {

// Rounds |value| = significand * 2^(exponent) to `kept` bits; used by every narrowing below.
// mode is a FloatMode rounding; negative says which way kDown and kUp go.
[[gnu::always_inline]] inline bool rounds_up(uint64_t kept_lsb, uint64_t rest, uint64_t half, uint8_t mode,
                                             bool negative) {
  switch (mode & 3) {
    case kNearest:
      return rest > half || (rest == half && kept_lsb != 0);
    case kDown:
      return rest != 0 && negative;
    case kUp:
      return rest != 0 && !negative;
    default:
      return false;
  }
}

// A double to a small format with kBits stored significand bits and kExponent exponent bits.
// Overflow goes to infinity, or to the largest value where the rounding direction says so.
template <int kExponent, int kBits>
uint16_t narrow_double(double value, uint8_t mode) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const bool negative = bits >> 63 != 0;
  const auto sign = static_cast<uint16_t>(negative ? 1u << (kExponent + kBits) : 0u);
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  constexpr uint16_t kInfinity = static_cast<uint16_t>(((1 << kExponent) - 1) << kBits);
  int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  uint64_t significand = bits & 0xfffffffffffffULL;
  if (exponent == 0x7ff) return significand != 0 ? uint16_t{0x7fff} : static_cast<uint16_t>(sign | kInfinity);
  if (exponent == 0 && significand == 0) return sign;
  if (exponent == 0) {
    exponent = 1;
  } else {
    significand |= uint64_t{1} << 52;
  }
  int target = exponent - 1023 + kBias;  // biased exponent in the small format
  int drop = 52 - kBits;
  if (target < 1) {
    drop += 1 - target;
    target = 1;
  }
  uint64_t kept, rest, half;
  if (drop > 62) {
    kept = 0;
    rest = 1;
    half = 2;
  } else {
    kept = significand >> drop;
    rest = significand & ((uint64_t{1} << drop) - 1);
    half = uint64_t{1} << (drop - 1);
  }
  if (rounds_up(kept & 1, rest, half, mode, negative)) ++kept;
  // kept has the hidden bit at kBits when normal; adding it to the exponent field carries correctly.
  const uint64_t hidden = uint64_t{1} << kBits;
  uint64_t result = kept >= hidden ? (static_cast<uint64_t>(target) << kBits) + (kept - hidden) : kept;
  if (result >= kInfinity) {
    const bool to_largest =
        (mode & 3) == kTowardZero || ((mode & 3) == kDown && !negative) || ((mode & 3) == kUp && negative);
    result = to_largest ? kInfinity - 1u : kInfinity;
  }
  return static_cast<uint16_t>(sign | result);
}

inline float half_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  uint32_t exponent = h >> 10 & 0x1f;
  uint32_t significand = h & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | significand << 13);
  if (exponent == 0) {
    // significand * 2^-24, built from its bits so that no flushing mode touches it
    if (significand == 0) return std::bit_cast<float>(sign);
    const int shift = __builtin_clz(significand) - 21;
    significand = (significand << shift) & 0x3ff;
    exponent = static_cast<uint32_t>(1 - shift);
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | significand << 13);
}

inline float bfloat_to_float(uint16_t b) { return std::bit_cast<float>(static_cast<uint32_t>(b) << 16); }

// A float widened exactly, whatever MXCSR says about denormals.
inline double widen(float v) {
  const uint32_t bits = std::bit_cast<uint32_t>(v);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude - 1 < 0x007fffffu) {  // denormal: significand * 2^-149
    const double scaled = static_cast<double>(magnitude) * 0x1p-149;
    return bits >> 31 != 0 ? -scaled : scaled;
  }
  return static_cast<double>(v);
}

inline uint16_t double_to_half(double v, uint8_t mode) { return narrow_double<5, 10>(v, mode); }
inline uint16_t double_to_bfloat(double v, uint8_t mode) { return narrow_double<8, 7>(v, mode); }
inline uint16_t float_to_half(float v, uint8_t mode) { return narrow_double<5, 10>(widen(v), mode); }
inline uint16_t float_to_bfloat(float v, uint8_t mode) { return narrow_double<8, 7>(widen(v), mode); }

// The two formats behind one interface.
struct Half {
  static float to_float(uint16_t v) { return half_to_float(v); }
  static uint16_t from(double v, uint8_t mode = kNearest) { return double_to_half(v, mode); }
  static constexpr uint16_t kExponentMask = 0x7c00;
  static constexpr double kLargest = 65504.0;
};
struct Bfloat {
  static float to_float(uint16_t v) { return bfloat_to_float(v); }
  static uint16_t from(double v, uint8_t mode = kNearest) { return double_to_bfloat(v, mode); }
  static constexpr uint16_t kExponentMask = 0x7f80;
  static constexpr double kLargest = 0x1.fep127;
};

}  // namespace
}  // namespace sluice::ptx::SLUICE_PTX_ISA
