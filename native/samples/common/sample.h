// What every sample program shares and that has nothing to do with CUDA:
// options, repeatable random data, repetition for a number of seconds and the
// sentence with which a sample gives up.
#pragma once

#include <chrono>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace samples {

using Clock = std::chrono::steady_clock;

/// Seconds since `start`.
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Options {
  const char* program = "";
  size_t size = 0;     // what the number means is the sample's own matter
  double seconds = 0;  // repeat until so many seconds have passed; 0: once
  int device = 0;      // ordinal
  bool pinned = false;
};

/// Ends the program with exit status 1 and one line on stderr, after what was
/// already printed.
[[noreturn]] __attribute__((format(printf, 2, 3))) inline void fail(const Options& options,
                                                                    const char* format, ...) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s: ", options.program);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
  std::exit(1);
}

/// Reads `--size N --seconds S --device D --pinned`; anything else prints the
/// usage and ends the program with status 2.
inline Options parse_options(int argc, char** argv, const char* program, size_t size, const char* size_help) {
  Options options;
  options.program = program;
  options.size = size;
  for (int i = 1; i < argc; ++i) {
    const char* name = argv[i];
    if (std::strcmp(name, "--pinned") == 0) {
      options.pinned = true;
      continue;
    }
    char* end = nullptr;
    const char* text = i + 1 < argc ? argv[i + 1] : "";
    const double value = std::strtod(text, &end);
    const bool number = end != text && *end == '\0' && value >= 0;
    if (number && value >= 1 && size != 0 && std::strcmp(name, "--size") == 0) {
      options.size = static_cast<size_t>(value);
    } else if (number && std::strcmp(name, "--seconds") == 0) {
      options.seconds = value;
    } else if (number && std::strcmp(name, "--device") == 0) {
      options.device = static_cast<int>(value);
    } else {
      std::fprintf(stderr, "usage: %s%s [--seconds S] [--device N] [--pinned]\n", program,
                   size != 0 ? " [--size N]" : "");
      if (size != 0) std::fprintf(stderr, "  --size N     %s (default %zu)\n", size_help, size);
      std::fprintf(stderr, "  --seconds S  repeat until S seconds have passed (default: once)\n");
      std::fprintf(stderr, "  --device N   which GPU (default 0)\n");
      std::fprintf(stderr, "  --pinned     page-locked host memory, where the sample has the choice\n");
      std::exit(2);
    }
    ++i;
  }
  return options;
}

/// xorshift64*: the same numbers on every machine and in both forms of a sample.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}

  uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1Du;
  }

  /// In [-1, 1).
  float next_float() {
    return static_cast<float>(static_cast<int32_t>(next() >> 40) - (1 << 23)) / (1 << 23);
  }

  void fill(void* data, size_t bytes) {
    auto* out = static_cast<unsigned char*>(data);
    for (size_t at = 0; at < bytes; at += 8) {
      const uint64_t word = next();
      std::memcpy(out + at, &word, bytes - at < 8 ? bytes - at : 8);
    }
  }

 private:
  uint64_t state_;
};

/// Runs `body(iteration)` once, or until `options.seconds` have passed, and
/// says so at most once a second. Iterations count from 1.
template <typename Body>
void repeat(const Options& options, Body body) {
  const auto start = Clock::now();
  double next_line = 0;
  for (unsigned long iteration = 1;; ++iteration) {
    body(iteration);
    const double passed = seconds_since(start);
    if (options.seconds <= 0) return;
    if (passed >= next_line) {
      std::printf("iteration %lu after %.1f s\n", iteration, passed);
      std::fflush(stdout);
      next_line = passed + 1;
    }
    if (passed >= options.seconds) {
      std::printf("%lu iterations in %.1f s\n", iteration, passed);
      return;
    }
  }
}

}  // namespace samples
