// Tables in the comments of a test's PTX text: what a kernel must make of which inputs.
//
//   //! add_s32 s32 s32 -> s32
//   //! 1 7fffffff = 80000000
//
// The first line names the kernel and its columns; each further one is a row of hexadecimal values.
// A result may also be `nan` (any NaN), `?` (anything), or `v~n` (within n units in the last place).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::ptx::test {

struct Expected {
  enum class Kind : uint8_t { kExact, kNan, kAnything, kNear };
  Kind kind = Kind::kExact;
  uint64_t bits = 0;
  uint64_t ulps = 0;
};

struct Row {
  std::vector<uint64_t> inputs;
  std::vector<Expected> results;
  uint32_t line = 0;
};

struct Table {
  std::string kernel;
  std::vector<std::string> input_types;
  std::vector<std::string> result_types;
  std::vector<Row> rows;
};

std::vector<Table> parse_tables(std::string_view text);

// Whether `bits`, a value of this PTX type, is what the row expects.
bool matches(const Expected& expected, std::string_view type, uint64_t bits);

}  // namespace sluice::ptx::test
