#include "common/array_format.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(ArrayFormat, SizesFollowFormatAndChannels) {
  EXPECT_EQ(element_layout(CU_AD_FORMAT_UNSIGNED_INT8, 1)->bytes, 1u);
  EXPECT_EQ(element_layout(CU_AD_FORMAT_HALF, 4)->bytes, 8u);
  EXPECT_EQ(element_layout(CU_AD_FORMAT_FLOAT, 4)->bytes, 16u);
  EXPECT_EQ(element_layout(CU_AD_FORMAT_SNORM_INT16X2, 2)->bytes, 4u);
  EXPECT_FALSE(element_layout(CU_AD_FORMAT_FLOAT, 3));
  EXPECT_FALSE(element_layout(CU_AD_FORMAT_SNORM_INT16X2, 1));
  EXPECT_FALSE(element_layout(static_cast<CUarray_format>(0), 1));
}

TEST(ArrayFormat, BlocksAreRoundedUp) {
  const auto block = element_layout(CU_AD_FORMAT_BC1_UNORM, 4);
  ASSERT_TRUE(block);
  EXPECT_EQ(block->edge, 4u);
  const ArrayExtent extent = array_extent({10, 5, 0, CU_AD_FORMAT_BC1_UNORM, 4, 0}, *block);
  EXPECT_EQ(extent.row_bytes, 3u * 8);
  EXPECT_EQ(extent.rows, 2u);
  EXPECT_EQ(extent.slices, 1u);
}

TEST(ArrayFormat, LevelsShrinkAndLayersStay) {
  const CUDA_ARRAY3D_DESCRIPTOR volume{64, 16, 4, CU_AD_FORMAT_FLOAT, 1, 0};
  EXPECT_EQ(most_levels(volume), 7u);
  EXPECT_EQ(level_descriptor(volume, 3).Width, 8u);
  EXPECT_EQ(level_descriptor(volume, 3).Height, 2u);
  EXPECT_EQ(level_descriptor(volume, 3).Depth, 1u);
  CUDA_ARRAY3D_DESCRIPTOR layered = volume;
  layered.Flags = CUDA_ARRAY3D_LAYERED;
  EXPECT_EQ(level_descriptor(layered, 3).Depth, 4u);
  EXPECT_EQ(level_descriptor({64, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0}, 2).Height, 0u);
}

TEST(ArrayFormat, BytesCountPlanesAndLevels) {
  EXPECT_EQ(array_bytes({64, 48, 0, CU_AD_FORMAT_NV12, 3, 0}), 64u * 48 * 3 / 2);
  EXPECT_EQ(array_bytes({8, 4, 2, CU_AD_FORMAT_FLOAT, 2, 0}), 8u * 4 * 2 * 8);
  EXPECT_EQ(mipmap_bytes({4, 4, 0, CU_AD_FORMAT_FLOAT, 1, 0}, 99), (16u + 4 + 1) * 4);
}

TEST(ArrayFormat, SizesThatDoNotFitAreNone) {
  EXPECT_FALSE(array_bytes({SIZE_MAX, 1, 0, CU_AD_FORMAT_FLOAT, 1, 0}));
  EXPECT_FALSE(
      array_bytes({0xffffffff, 0xffffffff, 0xffffffff, CU_AD_FORMAT_FLOAT, 4, CUDA_ARRAY3D_LAYERED}));
  EXPECT_FALSE(array_bytes({0, 1, 0, CU_AD_FORMAT_FLOAT, 1, 0}));
}

}  // namespace
}  // namespace sluice
