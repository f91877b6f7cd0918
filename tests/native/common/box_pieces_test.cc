#include "common/box_pieces.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice {
namespace {

// Every byte of the packed box once and in order, in pieces that fit and are boxes.
void expect_covered(const BoxExtent& box, size_t most) {
  std::vector<int> seen(box.bytes());
  size_t next = 0;
  const bool finished = for_each_piece(box, most, [&](const BoxPiece& piece) {
    EXPECT_EQ(piece.offset, next);
    EXPECT_LE(piece.extent.bytes(), most);
    EXPECT_FALSE(piece.extent.is_empty());
    size_t packed = piece.offset;
    for (size_t z = piece.z; z < piece.z + piece.extent.depth; z++) {
      for (size_t y = piece.y; y < piece.y + piece.extent.height; y++) {
        for (size_t x = piece.x; x < piece.x + piece.extent.width; x++) {
          EXPECT_EQ(packed++, (z * box.height + y) * box.width + x);
          seen.at((z * box.height + y) * box.width + x)++;
        }
      }
    }
    next = packed;
    return true;
  });
  EXPECT_TRUE(finished);
  for (const int times : seen) EXPECT_EQ(times, 1);
}

TEST(BoxPieces, CoverTheBoxInOrder) {
  for (const size_t width : {1, 5, 16, 40}) {
    for (const size_t height : {1, 3, 8}) {
      for (const size_t depth : {1, 2, 5}) {
        for (const size_t most : {16, 17, 48, 100, 4096}) expect_covered({width, height, depth}, most);
      }
    }
  }
}

TEST(BoxPieces, KeepRowsAndSlicesTogether) {
  int pieces = 0;
  for_each_piece({10, 4, 6}, 80, [&](const BoxPiece& piece) {
    EXPECT_EQ(piece.extent.width, 10u);
    EXPECT_EQ(piece.extent.height, 4u);
    EXPECT_EQ(piece.extent.depth, 2u);
    pieces++;
    return true;
  });
  EXPECT_EQ(pieces, 3);
}

TEST(BoxPieces, StopWhenToldTo) {
  int pieces = 0;
  EXPECT_FALSE(for_each_piece({10, 4, 6}, 10, [&](const BoxPiece&) { return ++pieces < 3; }));
  EXPECT_EQ(pieces, 3);
}

TEST(BoxExtent, SeesThatAProductDoesNotFit) {
  size_t bytes = 0;
  EXPECT_TRUE((BoxExtent{3, 4, 5}.count(&bytes)));
  EXPECT_EQ(bytes, 60u);
  EXPECT_FALSE((BoxExtent{SIZE_MAX / 2, 3, 1}.count(&bytes)));
  EXPECT_FALSE((BoxExtent{size_t{1} << 30, size_t{1} << 30, 16}.count(&bytes)));
}

}  // namespace
}  // namespace sluice
