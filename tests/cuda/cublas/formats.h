// Numbers as matrices hold them: conversion between a format's bits and double, and how far a result may be
// off.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace sluice::programs {

// Values of cudaDataType.
enum class Format : int { kF32 = 0, kF64 = 1, kF16 = 2, kBf16 = 14 };

inline size_t bytes_of(Format format) {
  switch (format) {
    case Format::kF64:
      return 8;
    case Format::kF32:
      return 4;
    default:
      return 2;
  }
}

// Half the distance between 1 and the next larger number.
inline double unit_roundoff(Format format) {
  switch (format) {
    case Format::kF64:
      return std::ldexp(1.0, -53);
    case Format::kF32:
      return std::ldexp(1.0, -24);
    case Format::kF16:
      return std::ldexp(1.0, -11);
    default:
      return std::ldexp(1.0, -8);
  }
}

// The bits of a number that the format holds exactly; other numbers are cut off toward zero.
// Subnormal halves are not needed here and become zero.
inline void put(Format format, double value, unsigned char* out) {
  const auto single = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &single, sizeof bits);
  if (format == Format::kF64) {
    std::memcpy(out, &value, sizeof value);
  } else if (format == Format::kF32) {
    std::memcpy(out, &single, sizeof single);
  } else {
    auto narrow = static_cast<uint16_t>(bits >> 16);
    if (format == Format::kF16) {
      const int exponent = static_cast<int>((bits >> 23) & 0xff) - 127 + 15;
      const uint32_t magnitude =
          exponent <= 0 ? 0 : static_cast<uint32_t>(exponent) << 10 | ((bits >> 13) & 0x3ff);
      narrow = static_cast<uint16_t>(((bits >> 16) & 0x8000) | magnitude);
    }
    std::memcpy(out, &narrow, sizeof narrow);
  }
}

inline double get(Format format, const unsigned char* in) {
  if (format == Format::kF64) {
    double value;
    std::memcpy(&value, in, sizeof value);
    return value;
  }
  uint32_t bits = 0;
  if (format == Format::kF32) {
    std::memcpy(&bits, in, sizeof bits);
  } else {
    uint16_t narrow;
    std::memcpy(&narrow, in, sizeof narrow);
    if (format == Format::kF16) {
      const int exponent = (narrow >> 10) & 0x1f;
      const double fraction = narrow & 0x3ff;
      const double magnitude = exponent == 0    ? std::ldexp(fraction, -24)
                               : exponent == 31 ? (fraction != 0 ? std::nan("") : HUGE_VAL)
                                                : std::ldexp(1024 + fraction, exponent - 25);
      return (narrow & 0x8000) != 0 ? -magnitude : magnitude;
    }
    bits = static_cast<uint32_t>(narrow) << 16;
  }
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// A column-major matrix (or several, one behind the other) on the host.
struct Matrix {
  Format format;
  int rows;
  int columns;
  int count;
  std::vector<unsigned char> bytes;

  Matrix(Format f, int r, int c, int n = 1)
      : format(f), rows(r), columns(c), count(n), bytes(elements() * bytes_of(f)) {}

  size_t elements() const {
    return static_cast<size_t>(rows) * static_cast<size_t>(columns) * static_cast<size_t>(count);
  }
  size_t at(int row, int column, int which) const {
    return ((static_cast<size_t>(which) * static_cast<size_t>(columns) + static_cast<size_t>(column)) *
                static_cast<size_t>(rows) +
            static_cast<size_t>(row)) *
           bytes_of(format);
  }
  double operator()(int row, int column, int which = 0) const {
    return get(format, bytes.data() + at(row, column, which));
  }

  // Numbers in (-1, 1) that depend on `seed` only.
  void fill(uint32_t seed) {
    for (size_t i = 0; i < elements(); i++) {
      seed = seed * 1664525 + 1013904223;
      put(format, static_cast<double>(static_cast<int32_t>(seed)) / 2147483648.0,
          bytes.data() + i * bytes_of(format));
    }
  }
};

}  // namespace sluice::programs
