#include "client/host_shape.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace sluice::client {
namespace {

constexpr HostShape kShape{{5, 3, 2}, 8, 40};

TEST(HostShape, KnowsWhatLiesPacked) {
  EXPECT_FALSE(kShape.is_packed());
  EXPECT_TRUE((HostShape{{5, 3, 2}, 5, 15}.is_packed()));
  EXPECT_FALSE((HostShape{{5, 3, 2}, 5, 20}.is_packed()));
  EXPECT_TRUE((HostShape{{5, 1, 1}, 99, 99}.is_packed()));
  EXPECT_EQ(kShape.span(), 40u + 2 * 8 + 5);
}

// Any part of the packed bytes, out of the rows and back into others, and nothing beside them.
TEST(HostShape, GathersAndScattersAnyPart) {
  std::vector<uint8_t> box(80), packed(kShape.extent.bytes());
  std::iota(box.begin(), box.end(), 1);
  gather(kShape, box.data(), 0, packed.size(), packed.data());
  EXPECT_EQ(packed[5], box[8]);
  EXPECT_EQ(packed[15], box[40]);
  for (size_t offset = 0; offset < packed.size(); offset++) {
    for (size_t bytes = 1; bytes <= packed.size() - offset; bytes++) {
      std::vector<uint8_t> part(bytes), other(80);
      gather(kShape, box.data(), offset, bytes, part.data());
      EXPECT_TRUE(std::equal(part.begin(), part.end(), packed.begin() + static_cast<long>(offset)));
      scatter(kShape, other.data(), offset, bytes, part.data());
      size_t written = 0;
      for (size_t i = 0; i < other.size(); i++) {
        if (other[i] == 0) continue;
        EXPECT_EQ(other[i], box[i]);
        written++;
      }
      EXPECT_EQ(written, bytes);
    }
  }
}

}  // namespace
}  // namespace sluice::client
