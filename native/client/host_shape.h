// A box of host memory whose rows do not touch each other, and its bytes packed without gaps, as they travel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/box_pieces.h"

namespace sluice::client {

struct HostShape {
  BoxExtent extent;
  size_t pitch = 0;  // bytes from row to row
  size_t slice = 0;  // bytes from slice to slice

  // Whether the bytes lie packed already.
  bool is_packed() const {
    return (extent.height == 1 || pitch == extent.width) &&
           (extent.depth == 1 || slice == extent.width * extent.height);
  }
  // Bytes from the first to the last.
  size_t span() const { return (extent.depth - 1) * slice + (extent.height - 1) * pitch + extent.width; }
};

// Copies `bytes` of the packed box from packed byte `offset` on, out of or into the box at `base`.
void gather(const HostShape& shape, const uint8_t* base, size_t offset, size_t bytes, uint8_t* packed);
void scatter(const HostShape& shape, uint8_t* base, size_t offset, size_t bytes, const uint8_t* packed);

}  // namespace sluice::client
