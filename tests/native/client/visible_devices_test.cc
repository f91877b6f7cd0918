#include "client/visible_devices.h"

#include <gtest/gtest.h>

namespace sluice::client {
namespace {

const std::vector<std::string> kUuids = {"GPU-11112222-0000-0000-0000-000000000000",
                                         "GPU-11113333-0000-0000-0000-000000000000",
                                         "GPU-aaaabbbb-0000-0000-0000-000000000000"};

using Places = std::vector<size_t>;

Places visible(const std::string& text) { return visible_devices(text, kUuids); }

TEST(VisibleDevices, AllWhenTheVariableIsNotSet) {
  EXPECT_EQ(visible_devices(std::nullopt, kUuids), (Places{0, 1, 2}));
}

TEST(VisibleDevices, IndicesInTheirOrder) {
  EXPECT_EQ(visible("2,0"), (Places{2, 0}));
  EXPECT_EQ(visible(" 1 , 2 "), (Places{1, 2}));
}

TEST(VisibleDevices, UuidsAndBeginningsThatFitOneGpu) {
  EXPECT_EQ(visible(kUuids[1]), (Places{1}));
  EXPECT_EQ(visible("GPU-a,GPU-11112"), (Places{2, 0}));
  EXPECT_EQ(visible("GPU-a,GPU-1111"), (Places{2})) << "GPU-1111 fits two";
}

TEST(VisibleDevices, TheFirstWrongEntryEndsTheList) {
  EXPECT_EQ(visible(""), (Places{}));
  EXPECT_EQ(visible("-1"), (Places{}));
  EXPECT_EQ(visible("0,3,1"), (Places{0}));
  EXPECT_EQ(visible("1,x,0"), (Places{1}));
  EXPECT_EQ(visible("1,,0"), (Places{1}));
  EXPECT_EQ(visible("0,1x"), (Places{0}));
  EXPECT_EQ(visible("0,1,0,2"), (Places{0, 1}));
  EXPECT_EQ(visible("NoDevFiles"), (Places{}));
}

}  // namespace
}  // namespace sluice::client
