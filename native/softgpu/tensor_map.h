// Tensor maps as this device lays them out in the 128 bytes that are opaque to programs: plain fields, so
// that an engine can read them where a kernel finds the map.
#pragma once

#include <cstdint>
#include <cstring>

#include "common/cuda_types.h"

namespace sluice::softgpu {

enum class TensorMapKind : uint8_t { kTiled = 1, kIm2col = 2, kIm2colWide = 3 };

struct TensorMap {
  static constexpr uint32_t kMark = 0x706d7473;  // tells an encoded map from other bytes

  uint32_t mark = kMark;
  TensorMapKind kind = TensorMapKind::kTiled;
  uint8_t rank = 0;
  uint8_t type = 0;  // CUtensorMapDataType
  uint8_t interleave = 0;
  uint64_t address = 0;
  uint32_t dimensions[5] = {};  // less one
  uint8_t swizzle = 0;
  uint8_t promotion = 0;
  uint8_t fill = 0;
  uint8_t wide_mode = 0;
  uint64_t strides[4] = {};  // bytes
  uint16_t box[5] = {};      // elements; with im2col: channels per pixel, pixels per column
  uint8_t element_strides[5] = {};
  uint8_t reserved = 0;
  int16_t lower[3] = {};
  int16_t upper[3] = {};
  uint8_t unused[28] = {};
};
static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));

// The map in the program's 128 bytes; false when no encoding function wrote them.
inline bool read_tensor_map(const CUtensorMap& opaque, TensorMap* out) {
  std::memcpy(static_cast<void*>(out), &opaque, sizeof *out);
  return out->mark == TensorMap::kMark;
}

}  // namespace sluice::softgpu
