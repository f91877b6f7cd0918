#include "wire/adaptive_poll.h"

#include <gtest/gtest.h>

namespace sluice::wire {
namespace {

// More waits than are ever skipped in a row.
constexpr int kMany = 5000;

TEST(AdaptivePoll, FindsWhatIsThere) {
  AdaptivePoll poll;
  EXPECT_TRUE(poll.run([] { return true; }));
}

TEST(AdaptivePoll, SleepsAtOnceAfterAMiss) {
  AdaptivePoll poll;
  EXPECT_FALSE(poll.run([] { return false; }));
  int looks = 0;
  EXPECT_FALSE(poll.run([&] { return ++looks > 0; }));
  EXPECT_EQ(looks, 0);
}

TEST(AdaptivePoll, TriesAgainLaterAndPollsOnWhenThatPays) {
  AdaptivePoll poll;
  for (int i = 0; i < 3; i++) poll.run([] { return false; });
  int found = 0;
  for (int i = 0; i < kMany; i++) found += poll.run([] { return true; }) ? 1 : 0;
  EXPECT_GT(found, 0);
}

TEST(AdaptivePoll, TakesLittleTimeWhereNothingEverComes) {
  AdaptivePoll poll;
  int looked = 0;
  for (int i = 0; i < kMany; i++) {
    bool this_time = false;
    poll.run([&] {
      this_time = true;
      return false;
    });
    looked += this_time ? 1 : 0;
  }
  EXPECT_LT(looked, kMany / 32);
}

}  // namespace
}  // namespace sluice::wire
