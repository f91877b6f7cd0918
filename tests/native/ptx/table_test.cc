// Every kernel of tests/ptx against its table: once with all lanes, once with every second lane left
// out (their results must stay untouched), and once on one lane of each warp.
#include "table.h"

#include <gtest/gtest.h>

#include <map>

#include "harness.h"

namespace sluice::ptx::test {
namespace {

constexpr uint64_t kUntouched = 0xa5a5a5a5a5a5a5a5u;

struct Case {
  std::string file;
  std::string kernel;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string& file : files_in(SLUICE_PTX_TESTS, ".ptx")) {
    for (const Table& table : parse_tables(read_file(file))) all.push_back({file, table.kernel});
  }
  return all;
}

uint64_t mask_of(std::string_view type) {
  if (type == "pred") return 0xffffffffu;  // stored as 0 or 1
  const size_t at = type.find_first_of("0123456789");
  const auto bits =
      static_cast<uint32_t>(std::strtoul(type.data() + at, nullptr, 10)) * (type.ends_with("x2") ? 2 : 1);
  return type == "e4m3x2" || type == "e5m2x2" ? 0xffff
         : bits >= 64                         ? ~uint64_t{0}
                                              : (uint64_t{1} << bits) - 1;
}

class TableTest : public testing::TestWithParam<Case> {};

// Thread t works on row t when (t & mask) == 0.
void check(Device& device, const Table& table, uint32_t mask) {
  const size_t results = table.result_types.size();
  std::vector<uint64_t> inputs;
  for (const Row& row : table.rows) inputs.insert(inputs.end(), row.inputs.begin(), row.inputs.end());
  if (inputs.empty()) inputs.push_back(0);
  const uint64_t in = device.upload(inputs);
  const uint64_t out = device.upload(std::vector<uint64_t>(table.rows.size() * results, kUntouched));
  const auto count = static_cast<uint32_t>(table.rows.size());
  Params params;
  params.add(in).add(out).add(count).add(mask);
  const Status status = device.launch(table.kernel, params, {.block = {(count + 31) / 32 * 32, 1, 1}});
  ASSERT_TRUE(status.ok()) << status.message;
  const std::vector<uint64_t> got = device.download<uint64_t>(out, table.rows.size() * results);
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const Row& row = table.rows[r];
    for (size_t k = 0; k < results; ++k) {
      const uint64_t value = got[r * results + k];
      if ((r & mask) != 0) {
        EXPECT_EQ(value, kUntouched) << "a lane that did not run, line " << row.line;
        continue;
      }
      const uint64_t width = mask_of(table.result_types[k]);
      EXPECT_TRUE(matches(row.results[k], table.result_types[k], value & width))
          << "line " << row.line << ", result " << k << ": got " << std::hex << (value & width)
          << ", expected " << row.results[k].bits << " (mask " << mask << ")";
      EXPECT_EQ(value & ~width, kUntouched & ~width) << "written beyond the type, line " << row.line;
    }
  }
}

// A file is compiled once for all its kernels.
struct Compiled {
  explicit Compiled(const std::string& text) : device(text), tables(parse_tables(text)) {}
  Device device;
  std::vector<Table> tables;
};
Compiled& compiled(const std::string& file) {
  static std::map<std::string, std::unique_ptr<Compiled>> files;
  std::unique_ptr<Compiled>& at = files[file];
  if (at == nullptr) at = std::make_unique<Compiled>(read_file(file));
  return *at;
}

TEST_P(TableTest, MatchesItsTable) {
  auto& [device, tables] = compiled(GetParam().file);
  ASSERT_TRUE(device.status().ok()) << device.status().message;
  for (const Table& table : tables) {
    if (table.kernel != GetParam().kernel) continue;
    ASSERT_LE(table.rows.size(), 1024u);
    for (const Row& row : table.rows) {
      ASSERT_EQ(row.inputs.size(), table.input_types.size()) << "line " << row.line;
      ASSERT_EQ(row.results.size(), table.result_types.size()) << "line " << row.line;
    }
    for (const uint32_t mask : {0u, 1u, 31u}) check(device, table, mask);
  }
}

INSTANTIATE_TEST_SUITE_P(Instructions, TableTest, testing::ValuesIn(cases()),
                         [](const auto& test_case) { return test_case.param.kernel; });

}  // namespace
}  // namespace sluice::ptx::test
