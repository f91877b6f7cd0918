#include "table.h"

#include <cstdlib>
#include <sstream>

namespace sluice::ptx::test {
namespace {

Expected parse_expected(const std::string& word) {
  Expected expected;
  if (word == "nan") {
    expected.kind = Expected::Kind::kNan;
  } else if (word == "?") {
    expected.kind = Expected::Kind::kAnything;
  } else {
    char* end = nullptr;
    expected.bits = std::strtoull(word.c_str(), &end, 16);
    if (*end == '~') {
      expected.kind = Expected::Kind::kNear;
      expected.ulps = std::strtoull(end + 1, nullptr, 10);
    }
  }
  return expected;
}

struct Shape {
  uint64_t sign = 0;
  uint64_t infinity = 0;
};
Shape shape_of(std::string_view type) {
  if (type == "f64") return {uint64_t{1} << 63, 0x7ff0000000000000u};
  if (type == "f32") return {0x80000000u, 0x7f800000u};
  if (type == "bf16") return {0x8000u, 0x7f80u};
  return {0x8000u, 0x7c00u};
}

}  // namespace

std::vector<Table> parse_tables(std::string_view text) {
  std::vector<Table> tables;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (uint32_t number = 1; std::getline(lines, line); ++number) {
    if (line.rfind("//! ", 0) != 0) continue;
    std::istringstream words(line.substr(4));
    std::string word;
    if (line.find("->") != std::string::npos) {
      Table table;
      words >> table.kernel;
      bool results = false;
      while (words >> word) {
        if (word == "->") {
          results = true;
        } else {
          (results ? table.result_types : table.input_types).push_back(word);
        }
      }
      tables.push_back(std::move(table));
      continue;
    }
    if (tables.empty()) continue;
    Row row;
    row.line = number;
    bool results = false;
    while (words >> word) {
      if (word == "=") {
        results = true;
      } else if (results) {
        row.results.push_back(parse_expected(word));
      } else {
        row.inputs.push_back(std::strtoull(word.c_str(), nullptr, 16));
      }
    }
    tables.back().rows.push_back(std::move(row));
  }
  return tables;
}

bool matches(const Expected& expected, std::string_view type, uint64_t bits) {
  const Shape shape = shape_of(type);
  const uint64_t magnitude = bits & ~shape.sign;
  switch (expected.kind) {
    case Expected::Kind::kAnything:
      return true;
    case Expected::Kind::kNan:
      return magnitude > shape.infinity;
    case Expected::Kind::kNear: {
      if (magnitude > shape.infinity) return false;
      // Counts from -largest to +largest, so that values on both sides of zero are near each other.
      const auto order = [&](uint64_t v) {
        const auto m = static_cast<int64_t>(v & ~shape.sign);
        return (v & shape.sign) != 0 ? -m : m;
      };
      const int64_t distance = order(bits) - order(expected.bits);
      return static_cast<uint64_t>(distance < 0 ? -distance : distance) <= expected.ulps;
    }
    default:
      return bits == expected.bits;
  }
}

}  // namespace sluice::ptx::test
