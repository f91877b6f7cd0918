#include "common/array_format.h"

#include <algorithm>
#include <bit>

namespace sluice {
namespace {

constexpr CUarray_format kU8 = CU_AD_FORMAT_UNSIGNED_INT8;
constexpr CUarray_format kU16 = CU_AD_FORMAT_UNSIGNED_INT16;

// Luma, then the two chroma channels together or apart, at the full or at half the resolution.
constexpr PlaneLayout kSemi420x8[] = {{kU8, 1, 1, 1}, {kU8, 2, 2, 2}};
constexpr PlaneLayout kSemi420x16[] = {{kU16, 1, 1, 1}, {kU16, 2, 2, 2}};
constexpr PlaneLayout kSemi422x8[] = {{kU8, 1, 1, 1}, {kU8, 2, 2, 1}};
constexpr PlaneLayout kSemi422x16[] = {{kU16, 1, 1, 1}, {kU16, 2, 2, 1}};
constexpr PlaneLayout kSemi444x8[] = {{kU8, 1, 1, 1}, {kU8, 2, 1, 1}};
constexpr PlaneLayout kSemi444x16[] = {{kU16, 1, 1, 1}, {kU16, 2, 1, 1}};
constexpr PlaneLayout kPlanar420x8[] = {{kU8, 1, 1, 1}, {kU8, 1, 2, 2}, {kU8, 1, 2, 2}};
constexpr PlaneLayout kPlanar420x16[] = {{kU16, 1, 1, 1}, {kU16, 1, 2, 2}, {kU16, 1, 2, 2}};
constexpr PlaneLayout kPlanar422x8[] = {{kU8, 1, 1, 1}, {kU8, 1, 2, 1}, {kU8, 1, 2, 1}};
constexpr PlaneLayout kPlanar422x16[] = {{kU16, 1, 1, 1}, {kU16, 1, 2, 1}, {kU16, 1, 2, 1}};
constexpr PlaneLayout kPlanar444x8[] = {{kU8, 1, 1, 1}, {kU8, 1, 1, 1}, {kU8, 1, 1, 1}};
constexpr PlaneLayout kPlanar444x16[] = {{kU16, 1, 1, 1}, {kU16, 1, 1, 1}, {kU16, 1, 1, 1}};

std::optional<ElementLayout> when(bool holds, uint32_t bytes, uint32_t edge = 1) {
  return holds ? std::optional(ElementLayout{bytes, edge}) : std::nullopt;
}

size_t shrunk(size_t extent, unsigned level) {
  return extent == 0 ? 0 : std::max<size_t>(1, level < 64 ? extent >> level : 0);
}

bool has_layers(const CUDA_ARRAY3D_DESCRIPTOR& array) {
  return (array.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
}

}  // namespace

std::optional<ElementLayout> element_layout(CUarray_format format, unsigned channels) {
  const bool packs = channels == 1 || channels == 2 || channels == 4;
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return when(packs, channels);
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return when(packs, 2 * channels);
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return when(packs, 4 * channels);
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X1:
      return when(channels == 1, 1);
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_YUY2:
      return when(channels == 2, 2);
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X4:
    case CU_AD_FORMAT_AYUV:
    case CU_AD_FORMAT_UINT8_PACKED_444:
    case CU_AD_FORMAT_Y410:
    case CU_AD_FORMAT_UNORM_INT_101010_2:
      return when(channels == 4, 4);
    case CU_AD_FORMAT_UINT8_PACKED_422:
      return when(channels == 4, 2);  // two texels share their chroma
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X1:
      return when(channels == 1, 2);
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X2:
    case CU_AD_FORMAT_Y210:
    case CU_AD_FORMAT_Y216:
      return when(channels == 2, 4);
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X4:
    case CU_AD_FORMAT_Y416:
      return when(channels == 4, 8);
    case CU_AD_FORMAT_BC1_UNORM:
    case CU_AD_FORMAT_BC1_UNORM_SRGB:
      return when(channels == 4, 8, 4);
    case CU_AD_FORMAT_BC4_UNORM:
    case CU_AD_FORMAT_BC4_SNORM:
      return when(channels == 1, 8, 4);
    case CU_AD_FORMAT_BC2_UNORM:
    case CU_AD_FORMAT_BC2_UNORM_SRGB:
    case CU_AD_FORMAT_BC3_UNORM:
    case CU_AD_FORMAT_BC3_UNORM_SRGB:
    case CU_AD_FORMAT_BC7_UNORM:
    case CU_AD_FORMAT_BC7_UNORM_SRGB:
      return when(channels == 4, 16, 4);
    case CU_AD_FORMAT_BC5_UNORM:
    case CU_AD_FORMAT_BC5_SNORM:
      return when(channels == 2, 16, 4);
    case CU_AD_FORMAT_BC6H_UF16:
    case CU_AD_FORMAT_BC6H_SF16:
      return when(channels == 3, 16, 4);
    default:
      return std::nullopt;
  }
}

std::span<const PlaneLayout> planes_of(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_NV12:
    case CU_AD_FORMAT_UINT8_SEMIPLANAR_420:
      return kSemi420x8;
    case CU_AD_FORMAT_P010:
    case CU_AD_FORMAT_P016:
    case CU_AD_FORMAT_UINT16_SEMIPLANAR_420:
      return kSemi420x16;
    case CU_AD_FORMAT_NV16:
    case CU_AD_FORMAT_UINT8_SEMIPLANAR_422:
      return kSemi422x8;
    case CU_AD_FORMAT_P210:
    case CU_AD_FORMAT_P216:
    case CU_AD_FORMAT_UINT16_SEMIPLANAR_422:
      return kSemi422x16;
    case CU_AD_FORMAT_YUV444_8bit_SemiPlanar:
    case CU_AD_FORMAT_UINT8_SEMIPLANAR_444:
      return kSemi444x8;
    case CU_AD_FORMAT_YUV444_16bit_SemiPlanar:
    case CU_AD_FORMAT_UINT16_SEMIPLANAR_444:
      return kSemi444x16;
    case CU_AD_FORMAT_UINT8_PLANAR_420:
      return kPlanar420x8;
    case CU_AD_FORMAT_UINT16_PLANAR_420:
      return kPlanar420x16;
    case CU_AD_FORMAT_UINT8_PLANAR_422:
      return kPlanar422x8;
    case CU_AD_FORMAT_UINT16_PLANAR_422:
      return kPlanar422x16;
    case CU_AD_FORMAT_Y444_PLANAR8:
    case CU_AD_FORMAT_UINT8_PLANAR_444:
      return kPlanar444x8;
    case CU_AD_FORMAT_Y444_PLANAR10:
    case CU_AD_FORMAT_UINT16_PLANAR_444:
      return kPlanar444x16;
    default:
      return {};
  }
}

CUDA_ARRAY3D_DESCRIPTOR plane_descriptor(const CUDA_ARRAY3D_DESCRIPTOR& array, const PlaneLayout& plane) {
  CUDA_ARRAY3D_DESCRIPTOR out = array;
  out.Width = array.Width / plane.width_divisor;
  out.Height = array.Height / plane.height_divisor;
  out.Format = plane.format;
  out.NumChannels = plane.channels;
  return out;
}

CUDA_ARRAY3D_DESCRIPTOR level_descriptor(const CUDA_ARRAY3D_DESCRIPTOR& base, unsigned level) {
  CUDA_ARRAY3D_DESCRIPTOR out = base;
  out.Width = shrunk(base.Width, level);
  out.Height = shrunk(base.Height, level);
  if (!has_layers(base)) out.Depth = shrunk(base.Depth, level);
  return out;
}

unsigned most_levels(const CUDA_ARRAY3D_DESCRIPTOR& base) {
  const size_t depth = has_layers(base) ? 0 : base.Depth;
  return static_cast<unsigned>(std::bit_width(std::max({base.Width, base.Height, depth, size_t{1}})));
}

ArrayExtent array_extent(const CUDA_ARRAY3D_DESCRIPTOR& array, const ElementLayout& element) {
  const auto blocks = [&](size_t texels) { return (texels + element.edge - 1) / element.edge; };
  return {blocks(array.Width) * element.bytes, std::max<size_t>(1, blocks(array.Height)),
          std::max<size_t>(1, array.Depth)};
}

std::optional<uint64_t> array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array) {
  constexpr size_t kMost = size_t{1} << 32;
  if (array.Width == 0 || array.Width >= kMost || array.Height >= kMost || array.Depth >= kMost)
    return std::nullopt;
  if (const auto planes = planes_of(array.Format); !planes.empty()) {
    uint64_t sum = 0;
    for (const PlaneLayout& plane : planes) {
      const auto bytes = array_bytes(plane_descriptor(array, plane));
      if (!bytes || __builtin_add_overflow(sum, *bytes, &sum)) return std::nullopt;
    }
    return sum;
  }
  const auto element = element_layout(array.Format, array.NumChannels);
  if (!element) return std::nullopt;
  const ArrayExtent extent = array_extent(array, *element);
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(extent.row_bytes, extent.rows, &bytes) ||
      __builtin_mul_overflow(bytes, extent.slices, &bytes) || bytes > INT64_MAX) {
    return std::nullopt;
  }
  return bytes;
}

std::optional<uint64_t> mipmap_bytes(const CUDA_ARRAY3D_DESCRIPTOR& base, unsigned levels) {
  uint64_t sum = 0;
  for (unsigned level = 0; level < std::min(levels, most_levels(base)); level++) {
    const auto bytes = array_bytes(level_descriptor(base, level));
    if (!bytes || __builtin_add_overflow(sum, *bytes, &sum)) return std::nullopt;
  }
  return sum;
}

}  // namespace sluice
