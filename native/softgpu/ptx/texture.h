// Textures and surfaces as kernels see them: the driver part describes each object by a TextureView, in
// memory of its own that lives as long as the object, and instructions read and write elements through it. A
// kernel holds an object as the 64-bit number that cuTexObjectCreate gave out; a module's .texref or .surfref
// variable holds the same number once it is bound.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/cuda_types.h"

namespace sluice::ptx {

enum class TextureShape : uint8_t {
  kBuffer,  // linear memory, read by element index only
  k1D,
  k2D,
  k3D,
  k1DLayered,
  k2DLayered,
  kCube,
  kCubeLayered,
};

// How the bits of a channel are stored.
enum class TexelKind : uint8_t { kUnsigned, kSigned, kFloat, kUnorm, kSnorm, kUnorm1010102, kBlock };

// Elements of one mipmap level: rows in slices. Layers and cube faces are slices.
struct TextureLevel {
  uint64_t address = 0;  // of this process
  size_t pitch = 0;      // bytes from row to row
  size_t slice = 0;      // bytes from slice to slice
  uint32_t width = 0;    // elements
  uint32_t height = 1;
  uint32_t depth = 1;
};

struct TextureView {
  static constexpr unsigned kMaxLevels = 16;

  TextureShape shape = TextureShape::kBuffer;
  TexelKind kind = TexelKind::kUnsigned;
  uint8_t channels = 1;       // 1, 2 or 4; a missing one reads as 0, the fourth as 1
  uint8_t channel_bytes = 1;  // 1, 2 or 4
  uint8_t element_bytes = 1;
  CUarray_format format{};  // of compressed blocks

  // Sampling; not used by surfaces.
  bool normalized_coordinates = false;
  bool read_as_integer = false;  // 8 and 16 bits come as integers, not as fractions of their range
  bool srgb = false;
  bool seamless_cube = false;
  CUaddress_mode address_mode[3] = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP,
                                    CU_TR_ADDRESS_MODE_CLAMP};
  CUfilter_mode filter = CU_TR_FILTER_MODE_POINT;
  CUfilter_mode mipmap_filter = CU_TR_FILTER_MODE_POINT;
  unsigned max_anisotropy = 1;  // 1 to 16
  float level_bias = 0;
  float min_level = 0;
  float max_level = 0;
  float border[4] = {};

  unsigned level_count = 1;
  TextureLevel levels[kMaxLevels];

  bool has_layers() const {
    return shape == TextureShape::k1DLayered || shape == TextureShape::k2DLayered ||
           shape == TextureShape::kCubeLayered;
  }
  // Whether reads give floating-point numbers.
  bool reads_float() const {
    switch (kind) {
      case TexelKind::kUnsigned:
      case TexelKind::kSigned:
        return !read_as_integer && channel_bytes < 4;
      default:
        return true;
    }
  }
};

// Where an engine finds the objects that a kernel names. Safe from several threads.
class Textures {
 public:
  virtual ~Textures() = default;
  // Null for a number that is no living object of the kind. The view stays while a kernel runs: destroying
  // an object waits for the work that was queued before.
  virtual const TextureView* texture(uint64_t object) const = 0;
  virtual const TextureView* surface(uint64_t object) const = 0;
};

}  // namespace sluice::ptx
