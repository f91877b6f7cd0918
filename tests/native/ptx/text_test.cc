// Broken text: every prefix of every sample, and bytes flipped, must give an answer and no crash.
#include <gtest/gtest.h>

#include <random>

#include "harness.h"

namespace sluice::ptx::test {
namespace {

// Enough of each generated table to meet every construct, without its rows.
std::string shortened(const std::string& text) {
  std::string result;
  size_t at = 0;
  while (at < text.size() && result.size() < 6000) {
    size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    const std::string_view line(text.data() + at, end - at);
    if (!line.starts_with("//")) result.append(line).push_back('\n');
    at = end + 1;
  }
  return result;
}

std::vector<std::string> samples() {
  std::vector<std::string> texts;
  for (const char* folder : {"", "/compiled"}) {
    for (const std::string& file : files_in(std::string(SLUICE_PTX_TESTS) + folder, ".ptx")) {
      texts.push_back(shortened(read_file(file)));
    }
  }
  return texts;
}

// What a broken module may answer.
void expect_answer(const std::string& text) {
  const CompileResult result = compile(text, {});
  if (result.status.ok()) {
    ASSERT_NE(result.program, nullptr);
    return;
  }
  EXPECT_NE(result.status.message.find("line"), std::string::npos) << result.status.message;
}

TEST(Text, EveryPrefix) {
  for (const std::string& text : samples()) {
    // Every byte of the first part; then steps that grow, to keep the test short.
    for (size_t end = 0; end < text.size(); end += 1 + end / 700) expect_answer(text.substr(0, end));
  }
}

TEST(Text, FlippedBytes) {
  std::mt19937 random(7);
  for (const std::string& text : samples()) {
    for (int k = 0; k < 60; ++k) {
      std::string broken = text;
      for (int flips = 0; flips < 1 + k % 4; ++flips) {
        broken[random() % broken.size()] = static_cast<char>(random() % 256);
      }
      expect_answer(broken);
    }
  }
}

TEST(Text, SwappedPieces) {
  std::mt19937 random(11);
  for (const std::string& text : samples()) {
    for (int k = 0; k < 20; ++k) {
      std::string broken = text;
      const size_t from = random() % text.size(), to = random() % text.size(), length = random() % 60;
      broken.replace(to, std::min(length, text.size() - to), text.substr(from, length));
      expect_answer(broken);
    }
  }
}

TEST(Text, HugeCountsCostNothing) {
  const std::string head = ".version 8.0\n.target sm_80\n.address_size 64\n";
  const std::string bodies[] = {
      ".entry k() { .reg .b32 %r<4294967295>; mov.u32 %r4000000000, 1; ret; }",
      ".global .align 4 .b8 big[70000000000000]; .entry k() { ret; }",
      ".global .b8 big[2][1000000000000] = {{1},{2}};",
      ".entry k() { .local .b8 big[1000000000]; ret; }",
      ".entry k() { .shared .b8 big[1000000000]; .reg .b32 %r; ld.shared.u32 %r, [big]; ret; }",
      ".entry k() { .param .b8 big[4000000000]; ret; }",
      ".entry k(.param .b8 big[100000]) { ret; }",
      ".entry k() { bra" + std::string(100000, '{') + "}",
      ".entry k() {" + std::string(100000, '{'),
      ".global .u32 x = " + std::string(100000, '-') + "1;",
      ".entry k() { .reg .b32 %r; mov.u32 %r, " + std::string(100000, '9') + "; }",
      "/* never closed",
      ".file 1 \"never closed",
  };
  for (const std::string& body : bodies) {
    const CompileResult result = compile(head + body, {});
    if (!result.status.ok()) {
      EXPECT_NE(result.status.message.find("line"), std::string::npos);
    }
  }
}

TEST(Text, DeepBlocksAndManyLabels) {
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { .reg .pred %p;\n";
  for (int i = 0; i < 3000; ++i)
    text += std::string("L")
                .append(std::to_string(i))
                .append(": @%p bra L")
                .append(std::to_string(i * 7919 % 3000))
                .append(";\n");
  text += std::string(3000, '{') + std::string(3000, '}') + "ret; }\n";
  const CompileResult result = compile(text, {});
  EXPECT_TRUE(result.status.ok()) << result.status.message;
}

}  // namespace
}  // namespace sluice::ptx::test
