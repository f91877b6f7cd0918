// Cutting a box of bytes into pieces that fit a buffer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sluice {

// Bytes per row, rows per slice, slices.
struct BoxExtent {
  size_t width = 0;
  size_t height = 1;
  size_t depth = 1;

  bool is_empty() const { return width == 0 || height == 0 || depth == 0; }
  size_t bytes() const { return width * height * depth; }
  // False when the product does not fit.
  bool count(size_t* bytes) const {
    return !__builtin_mul_overflow(width, height, bytes) && !__builtin_mul_overflow(*bytes, depth, bytes);
  }
};

struct BoxPiece {
  size_t x = 0;  // of its first byte in the box
  size_t y = 0;
  size_t z = 0;
  BoxExtent extent;
  size_t offset = 0;  // of its first byte when the whole box is packed without gaps
};

// Calls `body` with one piece after the other, in the order of the packed bytes: each is a contiguous part of
// them, at most `most` bytes long, and a box itself. Slices, rows and at last parts of rows are kept together
// as far as they fit. Stops when the body returns false, and returns what it returned last.
template <typename Body>
bool for_each_piece(const BoxExtent& box, size_t most, Body&& body) {
  const size_t row = std::min(box.width, most);
  const size_t rows = row < box.width ? 1 : std::min(box.height, std::max<size_t>(1, most / row));
  const size_t slices = rows < box.height ? 1 : std::max<size_t>(1, most / (row * rows));
  BoxPiece piece;
  for (piece.z = 0; piece.z < box.depth; piece.z += piece.extent.depth) {
    piece.extent.depth = std::min(slices, box.depth - piece.z);
    for (piece.y = 0; piece.y < box.height; piece.y += piece.extent.height) {
      piece.extent.height = std::min(rows, box.height - piece.y);
      for (piece.x = 0; piece.x < box.width; piece.x += piece.extent.width) {
        piece.extent.width = std::min(row, box.width - piece.x);
        if (!body(const_cast<const BoxPiece&>(piece))) return false;
        piece.offset += piece.extent.bytes();
      }
    }
  }
  return true;
}

}  // namespace sluice
