#include "wire/codec.h"

#include <gtest/gtest.h>

#include <random>

namespace sluice::wire {
namespace {

Writer sample() {
  Writer writer;
  writer.put(uint8_t{7});
  writer.put(uint16_t{0xbeef});
  writer.put(int32_t{-5});
  writer.put(uint64_t{0x0123456789abcdef});
  writer.put(2.5f);
  writer.text("a kernel");
  writer.put(uint32_t{2});
  writer.put(uint32_t{10});
  writer.put(uint32_t{20});
  return writer;
}

// Reads what sample() wrote; true when all of it was there and right.
bool read_sample(Reader& reader) {
  bool right = reader.get<uint8_t>() == 7;
  right = (reader.get<uint16_t>() == 0xbeef) && right;
  right = (reader.get<int32_t>() == -5) && right;
  right = (reader.get<uint64_t>() == 0x0123456789abcdef) && right;
  right = (reader.get<float>() == 2.5f) && right;
  right = (reader.text(64) == "a kernel") && right;
  const uint32_t count = reader.count(16, sizeof(uint32_t));
  right = count == 2 && right;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < count; i++) sum += reader.get<uint32_t>();
  return right && sum == 30 && reader.finished();
}

TEST(Codec, ReadsBackWhatWasWritten) {
  const Writer writer = sample();
  Reader reader(writer.data(), writer.size());
  EXPECT_TRUE(read_sample(reader));
}

TEST(Codec, NoticesTruncationAtEveryByte) {
  const Writer writer = sample();
  for (size_t size = 0; size < writer.size(); size++) {
    // A copy of exactly that size, so that the sanitizer sees a read past it.
    const std::vector<uint8_t> cut(writer.data(), writer.data() + size);
    Reader reader(cut.data(), cut.size());
    EXPECT_FALSE(read_sample(reader)) << size;
    EXPECT_TRUE(reader.failed()) << size;
  }
}

TEST(Codec, SurvivesCorruptionOfEveryByte) {
  const Writer writer = sample();
  std::mt19937 random(1);
  for (size_t at = 0; at < writer.size(); at++) {
    for (int round = 0; round < 16; round++) {
      std::vector<uint8_t> bytes(writer.data(), writer.data() + writer.size());
      bytes[at] = static_cast<uint8_t>(random());
      Reader reader(bytes.data(), bytes.size());
      read_sample(reader);  // whatever it says, it stays inside
      EXPECT_LE(reader.left(), bytes.size());
    }
  }
}

TEST(Codec, KeepsTheFirstFailure) {
  const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8};
  Reader reader(bytes, sizeof bytes);
  EXPECT_EQ(reader.bytes(9), nullptr);
  EXPECT_EQ(reader.get<uint8_t>(), 0);
  EXPECT_EQ(reader.left(), 0u);
  EXPECT_TRUE(reader.rest().empty());
  EXPECT_FALSE(reader.finished());
}

TEST(Codec, RefusesCountsThatCannotBeTrue) {
  Writer writer;
  writer.put(uint32_t{0xffffffff});
  writer.put(uint64_t{0});
  Reader above_cap(writer.data(), writer.size());
  EXPECT_EQ(above_cap.count(1000, 1), 0u);
  EXPECT_TRUE(above_cap.failed());
  Writer three;
  three.put(uint32_t{3});
  three.put(uint64_t{0});
  Reader beyond_the_end(three.data(), three.size());
  EXPECT_EQ(beyond_the_end.count(1000, 4), 0u);
  EXPECT_TRUE(beyond_the_end.failed());
}

TEST(Codec, RefusesTextsLongerThanTheirCap) {
  Writer writer;
  writer.text("0123456789");
  Reader reader(writer.data(), writer.size());
  EXPECT_EQ(reader.text(9), "");
  EXPECT_TRUE(reader.failed());
}

}  // namespace
}  // namespace sluice::wire
