// Lanes talking to each other, against a model written from the ISA's own description: shfl in all
// modes, widths and distances; vote, match, redux, elect and activemask over groups and in branches.
#include <gtest/gtest.h>

#include <algorithm>

#include "harness.h"

namespace sluice::ptx::test {
namespace {

// A kernel of one warp: %v is the lane's value, %t its number, %m a second value; results in %d and %e.
std::string kernel(const std::string& body) {
  return R"(.version 8.7
.target sm_100
.address_size 64
.visible .entry test(.param .u64 in, .param .u64 out) {
  .reg .pred %p, %q, %r;
  .reg .b64 %in, %out;
  .reg .b32 %t, %v, %m, %d, %e, %x;
  mov.u32 %t, %tid.x;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mad.wide.u32 %in, %t, 8, %in;
  mad.wide.u32 %out, %t, 8, %out;
  ld.global.v2.u32 {%v, %m}, [%in];
  mov.u32 %d, 0xabcd;
  mov.u32 %e, 0xabcd;
)" + body +
         R"(
  st.global.v2.u32 [%out], {%d, %e};
  ret;
})";
}

struct Lanes {
  uint32_t d[32];
  uint32_t e[32];
};

// Inputs are pairs (v, m) per lane.
Lanes run(const std::string& body, const std::vector<uint32_t>& pairs) {
  Device device(kernel(body));
  EXPECT_TRUE(device.status().ok()) << device.status().message;
  Lanes lanes{};
  if (!device.status().ok()) return lanes;
  const uint64_t out = device.allocate(256);
  const Status status = device.launch("test", Params().add(device.upload(pairs)).add(out));
  EXPECT_TRUE(status.ok()) << status.message;
  const auto got = device.download<uint32_t>(out, 64);
  for (int i = 0; i < 32; ++i) {
    lanes.d[i] = got[2 * i];
    lanes.e[i] = got[2 * i + 1];
  }
  return lanes;
}

std::vector<uint32_t> values(uint32_t (*v)(uint32_t), uint32_t (*m)(uint32_t)) {
  std::vector<uint32_t> pairs;
  for (uint32_t i = 0; i < 32; ++i) {
    pairs.push_back(v(i));
    pairs.push_back(m(i));
  }
  return pairs;
}

class ShuffleTest : public testing::TestWithParam<const char*> {};

TEST_P(ShuffleTest, EveryWidthAndDistance) {
  const std::string mode = GetParam();
  for (const uint32_t width : {2u, 8u, 16u, 32u}) {
    const uint32_t c = (32 - width) << 8 | (mode == "up" ? 0 : 0x1f);
    const std::string body = "shfl.sync." + mode + ".b32 %d|%p, %v, %m, " + std::to_string(c) +
                             ", 0xffffffff;\nselp.u32 %e, 1, 0, %p;";
    for (const uint32_t distance : {0u, 1u, 3u, 7u, 15u, 31u}) {
      std::vector<uint32_t> pairs;
      for (uint32_t i = 0; i < 32; ++i) {
        pairs.push_back(i * 1000 + 7);
        pairs.push_back(mode == "idx" ? distance + i % 3 : distance);  // idx: a source of each lane's own
      }
      const Lanes got = run(body, pairs);
      for (uint32_t lane = 0; lane < 32; ++lane) {
        const int b = static_cast<int>(pairs[2 * lane + 1] & 31);
        const int base = static_cast<int>(lane / width * width), top = base + static_cast<int>(width) - 1;
        const int at = static_cast<int>(lane);
        int from = 0;
        bool valid = false;
        if (mode == "up") {
          from = at - b;
          valid = from >= base;
        } else if (mode == "down") {
          from = at + b;
          valid = from <= top;
        } else if (mode == "bfly") {
          from = at ^ b;
          valid = from <= top;
        } else {
          from = base + b % static_cast<int>(width);
          valid = true;
        }
        if (!valid) from = at;
        EXPECT_EQ(got.d[lane], pairs[2 * static_cast<size_t>(from)])
            << mode << " width " << width << " distance " << distance << " lane " << lane;
        EXPECT_EQ(got.e[lane], valid ? 1u : 0u)
            << mode << " width " << width << " distance " << distance << " lane " << lane;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, ShuffleTest, testing::Values("up", "down", "bfly", "idx"),
                         [](const auto& mode) { return std::string(mode.param); });

TEST(Shuffle, MayOverwriteItsOwnSource) {
  const Lanes got = run("shfl.sync.bfly.b32 %v, %v, 1, 0x1f, 0xffffffff;\nmov.u32 %d, %v;",
                        values([](uint32_t i) { return i; }, [](uint32_t) { return 0u; }));
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got.d[i], i ^ 1);
}

// Members of each lane's vote: the whole warp, eights of it, or even and odd lanes.
uint32_t whole(uint32_t) { return 0xffffffffu; }
uint32_t eights(uint32_t i) { return 0xffu << (i / 8 * 8); }
uint32_t parity(uint32_t i) { return i % 2 == 0 ? 0x55555555u : 0xaaaaaaaau; }
uint32_t sparse(uint32_t i) { return i * i % 7 < 3 ? 1u : 0u; }
uint32_t mostly(uint32_t i) { return i < 9 ? 1u : 0u; }

class GroupTest : public testing::TestWithParam<uint32_t (*)(uint32_t)> {};

TEST_P(GroupTest, VotesSideBySide) {
  for (uint32_t (*const v)(uint32_t) : {sparse, mostly, whole}) {
    const auto pairs = values(v, GetParam());
    const Lanes ballot = run(
        "setp.ne.u32 %p, %v, 0;\nvote.sync.ballot.b32 %d, %p, %m;\nvote.sync.ballot.b32 %e, !%p, %m;", pairs);
    const Lanes votes = run(R"(setp.ne.u32 %p, %v, 0;
      vote.sync.all.pred %q, %p, %m;
      selp.u32 %d, 1, 0, %q;
      vote.sync.any.pred %q, %p, %m;
      @%q or.b32 %d, %d, 2;
      vote.sync.uni.pred %q, %p, %m;
      @%q or.b32 %d, %d, 4;)",
                            pairs);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t members = GetParam()(lane);
      uint32_t yes = 0;
      for (uint32_t k = 0; k < 32; ++k) yes |= v(k) != 0 ? members & (1u << k) : 0;
      EXPECT_EQ(ballot.d[lane], yes) << lane;
      EXPECT_EQ(ballot.e[lane], members & ~yes) << lane;
      const uint32_t expected =
          (yes == members ? 1u : 0u) | (yes != 0 ? 2u : 0u) | (yes == 0 || yes == members ? 4u : 0u);
      EXPECT_EQ(votes.d[lane], expected) << lane;
    }
  }
}

TEST_P(GroupTest, MatchReduceElect) {
  const auto value = [](uint32_t i) { return (i * 5 % 4) * 0x40000001u; };
  const auto pairs = values(value, GetParam());
  const Lanes match = run("match.any.sync.b32 %d, %v, %m;\nmatch.all.sync.b32 %e|%p, %v, %m;", pairs);
  const Lanes sums = run("redux.sync.add.u32 %d, %v, %m;\nredux.sync.max.s32 %e, %v, %m;", pairs);
  const Lanes bits = run("redux.sync.xor.b32 %d, %v, %m;\nredux.sync.min.u32 %e, %v, %m;", pairs);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t members = GetParam()(lane);
    uint32_t same = 0, sum = 0, mixed = 0, least = ~0u;
    int32_t most = INT32_MIN;
    for (uint32_t k = 0; k < 32; ++k) {
      if ((members >> k & 1) == 0) continue;
      same |= value(k) == value(lane) ? 1u << k : 0;
      sum += value(k);
      mixed ^= value(k);
      least = std::min(least, value(k));
      most = std::max(most, static_cast<int32_t>(value(k)));
    }
    EXPECT_EQ(match.d[lane], same) << lane;
    EXPECT_EQ(match.e[lane], same == members ? members : 0u) << lane;
    EXPECT_EQ(sums.d[lane], sum) << lane;
    EXPECT_EQ(sums.e[lane], static_cast<uint32_t>(most)) << lane;
    EXPECT_EQ(bits.d[lane], mixed) << lane;
    EXPECT_EQ(bits.e[lane], least) << lane;
  }
}

INSTANTIATE_TEST_SUITE_P(Members, GroupTest, testing::Values(whole, eights, parity));

TEST(Warp, ElectsOneLane) {
  const Lanes got = run("elect.sync %d|%p, 0xffffffff;\nselp.u32 %e, 1, 0, %p;", values(sparse, whole));
  uint32_t elected = 0;
  for (uint32_t i = 0; i < 32; ++i) {
    elected += got.e[i];
    EXPECT_EQ(got.d[i], got.d[0]);
  }
  EXPECT_EQ(elected, 1u);
  EXPECT_EQ(got.e[got.d[0]], 1u);
}

TEST(Warp, BranchesKnowTheirLanes) {
  const Lanes got = run(R"(setp.ne.u32 %p, %v, 0;
    @%p bra YES;
    activemask.b32 %d;
    bra MEET;
YES:
    activemask.b32 %d;
    shfl.sync.idx.b32 %e, %t, 8, 0x1f, 0x1ff;
MEET:)",
                        values(mostly, whole));
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(got.d[i], i < 9 ? 0x1ffu : ~0x1ffu);
    EXPECT_EQ(got.e[i], i < 9 ? 8u : 0xabcdu);
  }
}

TEST(Warp, SpecialRegisters) {
  const Lanes masks = run("mov.u32 %d, %lanemask_lt;\nmov.u32 %e, %lanemask_ge;", values(whole, whole));
  const Lanes lane = run("mov.u32 %d, %laneid;\nmov.u32 %e, %ntid.x;", values(whole, whole));
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(masks.d[i], (1u << i) - 1);
    EXPECT_EQ(masks.e[i], ~((1u << i) - 1));
    EXPECT_EQ(lane.d[i], i);
    EXPECT_EQ(lane.e[i], 32u);
  }
}

}  // namespace
}  // namespace sluice::ptx::test
