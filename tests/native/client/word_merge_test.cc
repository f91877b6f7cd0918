// What of shared memory is sent, and how both sides' changes come together.
#include "client/word_merge.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace sluice::client {
namespace {

using Pieces = std::vector<std::pair<size_t, size_t>>;

Pieces changes(const std::vector<uint8_t>& now, std::vector<uint8_t>& base) {
  Pieces pieces;
  take_changes(now.data(), base.data(), now.size(),
               [&](size_t offset, size_t bytes) { pieces.emplace_back(offset, bytes); });
  return pieces;
}

TEST(WordMerge, SendsNothingOfWhatIsTheSame) {
  std::vector<uint8_t> now(100'003, 7);
  std::vector<uint8_t> base = now;
  EXPECT_TRUE(changes(now, base).empty());
}

TEST(WordMerge, SendsTheWordsThatChangedOnce) {
  std::vector<uint8_t> now(100'003);
  std::vector<uint8_t> base = now;
  now[5] = 1;
  now[50'001] = 2;
  now[100'002] = 3;
  EXPECT_EQ(changes(now, base), (Pieces{{0, 8}, {50'000, 8}, {100'000, 3}}));
  EXPECT_TRUE(changes(now, base).empty());
}

TEST(WordMerge, JoinsWhatIsClose) {
  std::vector<uint8_t> now(8192);
  std::vector<uint8_t> base = now;
  now[4090] = now[4100] = now[4130] = 1;
  EXPECT_EQ(changes(now, base), (Pieces{{4088, 48}}));
}

TEST(WordMerge, TakesTheirsAndKeepsOurs) {
  std::vector<uint8_t> base(19, 1);
  std::vector<uint8_t> now = base;
  std::vector<uint8_t> theirs = base;
  now[2] = 20;  // ours, in a word that they change too
  theirs[3] = 30;
  theirs[9] = 90;  // theirs alone
  theirs[18] = 180;
  now[16] = 160;  // ours alone, in the rest that is no whole word
  merge_changes(now.data(), base.data(), theirs.data(), now.size());
  EXPECT_EQ(now[2], 20);
  EXPECT_EQ(now[3], 30);
  EXPECT_EQ(now[9], 90);
  EXPECT_EQ(now[18], 180);
  EXPECT_EQ(now[16], 160);
  EXPECT_EQ(base, theirs);
  EXPECT_EQ(changes(now, base), (Pieces{{0, 19}}));
}

}  // namespace
}  // namespace sluice::client
