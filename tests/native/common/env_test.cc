#include "common/env.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace sluice::env {
namespace {

constexpr const char* kName = "SLUICE_TEST_VARIABLE";

class Env : public testing::Test {
 protected:
  void TearDown() override { ::unsetenv(kName); }
};

TEST_F(Env, EmptyIsUnset) {
  EXPECT_FALSE(text(kName));
  ::setenv(kName, "", 1);
  EXPECT_FALSE(text(kName));
  EXPECT_FALSE((*integer(kName, 0, 10)).has_value());
  EXPECT_TRUE(flag(kName, true));
}

TEST_F(Env, NumbersAreWholeAndInRange) {
  ::setenv(kName, "7", 1);
  EXPECT_EQ(**integer(kName, 0, 10), 7);
  for (const char* bad : {"11", "-1", "7x", "x", "7.0", " 7", "99999999999999999999"}) {
    ::setenv(kName, bad, 1);
    const auto number = integer(kName, 0, 10);
    ASSERT_FALSE(number) << bad;
    EXPECT_EQ(number.error(), std::string("SLUICE_TEST_VARIABLE is \"") + bad +
                                  "\"; it must be a whole number from 0 to 10.");
  }
}

TEST_F(Env, FlagsHaveSeveralSpellings) {
  for (const char* on : {"1", "on", "true", "yes"}) {
    ::setenv(kName, on, 1);
    EXPECT_TRUE(flag(kName, false)) << on;
  }
  for (const char* off : {"0", "off", "false", "no"}) {
    ::setenv(kName, off, 1);
    EXPECT_FALSE(flag(kName, true)) << off;
  }
}

}  // namespace
}  // namespace sluice::env
