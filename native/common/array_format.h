// The formats of CUDA arrays: how large an element is, which planes an array of a video format has, what the
// levels of a mipmapped array look like. From the descriptions of CUarray_format and cuMipmappedArrayCreate
// in NVIDIA's reference manual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/cuda_types.h"

namespace sluice {

// The unit in which an array is stored and copied: one element, or a block of texels of a compressed format.
struct ElementLayout {
  uint32_t bytes = 0;
  uint32_t edge = 1;  // texels along each side of a block
};

// Nothing for a format that does not exist, a number of channels that it does not have, and video formats of
// several planes, whose planes are arrays of their own.
std::optional<ElementLayout> element_layout(CUarray_format format, unsigned channels);

struct PlaneLayout {
  CUarray_format format;
  unsigned channels;
  unsigned width_divisor;
  unsigned height_divisor;
};

// The planes of a video format; empty for others.
std::span<const PlaneLayout> planes_of(CUarray_format format);
// The channels that a descriptor of a video format with planes names.
constexpr unsigned kPlanarChannels = 3;

// What cuArray3DGetDescriptor says about a plane and about a level.
CUDA_ARRAY3D_DESCRIPTOR plane_descriptor(const CUDA_ARRAY3D_DESCRIPTOR& array, const PlaneLayout& plane);
CUDA_ARRAY3D_DESCRIPTOR level_descriptor(const CUDA_ARRAY3D_DESCRIPTOR& base, unsigned level);
// Levels down to one texel: the most that a mipmapped array has.
unsigned most_levels(const CUDA_ARRAY3D_DESCRIPTOR& base);

// An array as copies see it: rows of blocks in slices. Layers and faces are slices.
struct ArrayExtent {
  size_t row_bytes = 0;
  size_t rows = 1;
  size_t slices = 1;
};
// Extents have been checked: nothing overflows below 2^32 in each dimension.
ArrayExtent array_extent(const CUDA_ARRAY3D_DESCRIPTOR& array, const ElementLayout& element);

// Bytes of the elements of an array, all planes included; nothing for a descriptor that cannot be, or whose
// size does not fit into 63 bits.
std::optional<uint64_t> array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array);
std::optional<uint64_t> mipmap_bytes(const CUDA_ARRAY3D_DESCRIPTOR& base, unsigned levels);

}  // namespace sluice
