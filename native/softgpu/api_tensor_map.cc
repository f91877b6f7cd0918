// Encoding of tensor maps, with the rules of the reference manual.
#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/tensor_map.h"

namespace sluice::softgpu {
namespace {

constexpr unsigned kMostRank = 5;
constexpr uint64_t kMostDimension = uint64_t{1} << 31;
constexpr uint64_t kMostStride = uint64_t{1} << 40;

bool is_aligned(const void* pointer, uint64_t alignment) {
  return pointer != nullptr && reinterpret_cast<uint64_t>(pointer) % alignment == 0;
}

// Bytes of an element; 0 for the packed types, whose elements are parts of bytes.
unsigned element_bytes(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 8;
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B:
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B:
    case CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B:
      return 0;
    default:
      return 4;
  }
}

bool is_float(CUtensorMapDataType type) {
  return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

unsigned swizzle_span(CUtensorMapSwizzle swizzle) {
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_NONE:
      return UINT32_MAX;
    case CU_TENSOR_MAP_SWIZZLE_32B:
      return 32;
    case CU_TENSOR_MAP_SWIZZLE_64B:
      return 64;
    default:
      return 128;
  }
}

// What the ways of encoding have in common.
struct Tensor {
  CUtensorMapDataType type;
  unsigned rank;
  void* address;
  const unsigned long long* dimensions;
  const unsigned long long* strides;
  const unsigned* element_strides;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};

bool modes_exist(const Tensor& t) {
  const bool packed16 = t.type >= CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B;
  if (t.type < CU_TENSOR_MAP_DATA_TYPE_UINT8 || t.type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B ||
      t.interleave < CU_TENSOR_MAP_INTERLEAVE_NONE || t.interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
      t.swizzle < CU_TENSOR_MAP_SWIZZLE_NONE || t.swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B ||
      t.promotion < CU_TENSOR_MAP_L2_PROMOTION_NONE || t.promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
      t.fill < CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ||
      t.fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA) {
    return false;
  }
  if (t.fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && !is_float(t.type)) return false;
  if (t.interleave == CU_TENSOR_MAP_INTERLEAVE_32B && t.swizzle != CU_TENSOR_MAP_SWIZZLE_32B) return false;
  if (t.type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B && t.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE)
    return false;
  return !packed16 || (t.swizzle != CU_TENSOR_MAP_SWIZZLE_32B && t.swizzle != CU_TENSOR_MAP_SWIZZLE_64B &&
                       t.swizzle != CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B);
}

CUresult encode(const Tensor& t, TensorMapKind kind, TensorMap* out) {
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  if (context->device.cc() < 90) return CUDA_ERROR_NOT_SUPPORTED;
  const bool interleaved = t.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE;
  const bool packed16 = t.type >= CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B;
  const uint64_t alignment = t.interleave == CU_TENSOR_MAP_INTERLEAVE_32B || packed16 ? 32 : 16;
  const bool needs_three = interleaved || kind != TensorMapKind::kTiled;
  if (t.rank == 0 || t.rank > kMostRank || (needs_three && t.rank < 3) || !modes_exist(t) ||
      !is_aligned(t.address, alignment) || t.dimensions == nullptr || t.element_strides == nullptr ||
      (t.rank > 1 && t.strides == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const uint64_t whole = packed16 ? 128 : t.type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B ? 2 : 1;
  if (t.dimensions[0] % whole != 0) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < t.rank; ++i) {
    if (t.dimensions[i] == 0 || t.dimensions[i] > kMostDimension) return CUDA_ERROR_INVALID_VALUE;
    const bool ignored = i == 0 && !interleaved;
    if (!ignored && (t.element_strides[i] == 0 || t.element_strides[i] > 8)) return CUDA_ERROR_INVALID_VALUE;
    out->dimensions[i] = static_cast<uint32_t>(t.dimensions[i] - 1);
    out->element_strides[i] = static_cast<uint8_t>(ignored ? 1 : t.element_strides[i]);
  }
  for (unsigned i = 0; i + 1 < t.rank; ++i) {
    if (t.strides[i] % alignment != 0 || t.strides[i] >= kMostStride) return CUDA_ERROR_INVALID_VALUE;
    out->strides[i] = t.strides[i];
  }
  out->kind = kind;
  out->rank = static_cast<uint8_t>(t.rank);
  out->type = static_cast<uint8_t>(t.type);
  out->address = reinterpret_cast<uint64_t>(t.address);
  out->interleave = static_cast<uint8_t>(t.interleave);
  out->swizzle = static_cast<uint8_t>(t.swizzle);
  out->promotion = static_cast<uint8_t>(t.promotion);
  out->fill = static_cast<uint8_t>(t.fill);
  return CUDA_SUCCESS;
}

// The box's rows, which the swizzle pattern has to hold.
bool inner_fits(const Tensor& t, unsigned elements) {
  const unsigned element = element_bytes(t.type);
  if (element == 0) return t.type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B || elements == 128;
  if (t.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) return true;
  return elements * element % 16 == 0 && elements * element <= swizzle_span(t.swizzle);
}

CUresult finish(const TensorMap& encoded, CUtensorMap* out) {
  std::memcpy(out, &encoded, sizeof encoded);
  return CUDA_SUCCESS;
}

CUresult encode_tiled(CUtensorMap* out, const Tensor& t, const unsigned* box) {
  if (!is_aligned(out, 64) || box == nullptr) return CUDA_ERROR_INVALID_VALUE;
  TensorMap map;
  SLUICE_TRY(encode(t, TensorMapKind::kTiled, &map));
  for (unsigned i = 0; i < t.rank; ++i) {
    if (box[i] == 0 || box[i] > 256) return CUDA_ERROR_INVALID_VALUE;
    map.box[i] = static_cast<uint16_t>(box[i]);
  }
  return inner_fits(t, box[0]) ? finish(map, out) : CUDA_ERROR_INVALID_VALUE;
}

CUresult encode_im2col(CUtensorMap* out, const Tensor& t, TensorMapKind kind, const int* lower,
                       const int* upper, unsigned corners, unsigned channels, unsigned pixels,
                       CUtensorMapIm2ColWideMode mode) {
  if (!is_aligned(out, 64) || lower == nullptr || upper == nullptr || channels == 0 || channels > 256 ||
      pixels == 0 || pixels > 1024 || mode < CU_TENSOR_MAP_IM2COL_WIDE_MODE_W ||
      mode > CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  TensorMap map;
  SLUICE_TRY(encode(t, kind, &map));
  // Fewer bits for each corner the more of them there are.
  const int limit = 1 << (corners == 1 ? 15 : corners == 2 ? 7 : 4);
  for (unsigned i = 0; i < corners; ++i) {
    if (lower[i] < -limit || lower[i] >= limit || upper[i] < -limit || upper[i] >= limit)
      return CUDA_ERROR_INVALID_VALUE;
    map.lower[i] = static_cast<int16_t>(lower[i]);
    map.upper[i] = static_cast<int16_t>(upper[i]);
  }
  map.box[0] = static_cast<uint16_t>(channels);
  map.box[1] = static_cast<uint16_t>(pixels);
  map.wide_mode = static_cast<uint8_t>(mode);
  return inner_fits(t, channels) ? finish(map, out) : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuTensorMapEncodeTiled(CUtensorMap* out, CUtensorMapDataType type, unsigned rank, void* address,
                                  const unsigned long long* dimensions, const unsigned long long* strides,
                                  const unsigned* box, const unsigned* element_strides,
                                  CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                  CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  return api([&] {
    return encode_tiled(
        out,
        {type, rank, address, dimensions, strides, element_strides, interleave, swizzle, promotion, fill},
        box);
  });
}
SLUICE_API cuTensorMapEncodeIm2col(CUtensorMap* out, CUtensorMapDataType type, unsigned rank, void* address,
                                   const unsigned long long* dimensions, const unsigned long long* strides,
                                   const int* lower, const int* upper, unsigned channels, unsigned pixels,
                                   const unsigned* element_strides, CUtensorMapInterleave interleave,
                                   CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                   CUtensorMapFloatOOBfill fill) {
  return api([&]() -> CUresult {
    if (rank < 3 || rank > kMostRank) return CUDA_ERROR_INVALID_VALUE;
    return encode_im2col(
        out,
        {type, rank, address, dimensions, strides, element_strides, interleave, swizzle, promotion, fill},
        TensorMapKind::kIm2col, lower, upper, rank - 2, channels, pixels, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W);
  });
}
SLUICE_API cuTensorMapEncodeIm2colWide(CUtensorMap* out, CUtensorMapDataType type, unsigned rank,
                                       void* address, const unsigned long long* dimensions,
                                       const unsigned long long* strides, int lower, int upper,
                                       unsigned channels, unsigned pixels, const unsigned* element_strides,
                                       CUtensorMapInterleave interleave, CUtensorMapIm2ColWideMode mode,
                                       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                       CUtensorMapFloatOOBfill fill) {
  return api([&] {
    return encode_im2col(
        out,
        {type, rank, address, dimensions, strides, element_strides, interleave, swizzle, promotion, fill},
        TensorMapKind::kIm2colWide, &lower, &upper, 1, channels, pixels, mode);
  });
}
SLUICE_API cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  return api([&]() -> CUresult {
    Context* context;
    SLUICE_TRY(healthy_context(&context));
    TensorMap known;
    if (!is_aligned(map, 64) || !read_tensor_map(*map, &known)) return CUDA_ERROR_INVALID_VALUE;
    const bool wide = known.interleave == CU_TENSOR_MAP_INTERLEAVE_32B ||
                      known.type >= CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B;
    if (!is_aligned(address, wide ? 32 : 16)) return CUDA_ERROR_INVALID_VALUE;
    known.address = reinterpret_cast<uint64_t>(address);
    return finish(known, map);
  });
}
// Classes make no difference to this device, so each is granted and none is kept.
SLUICE_API cuTensorMapSetAllocationClass(CUtensorMap* map, CUtensorMapAllocClass wanted,
                                         CUtensorMapAllocClass* effective) {
  return api([&]() -> CUresult {
    if (effective != nullptr) *effective = CU_TENSOR_MAP_ALLOC_CLASS_SMALL;
    Context* context;
    SLUICE_TRY(healthy_context(&context));
    TensorMap known;
    if (!is_aligned(map, 64) || !read_tensor_map(*map, &known) || wanted < CU_TENSOR_MAP_ALLOC_CLASS_AUTO ||
        wanted > CU_TENSOR_MAP_ALLOC_CLASS_LARGE) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

namespace sluice::softgpu {

std::span<const Entry> tensor_map_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuTensorMapEncodeTiled", 12000, cuTensorMapEncodeTiled),
      SLUICE_ENTRY("cuTensorMapEncodeIm2col", 12000, cuTensorMapEncodeIm2col),
      SLUICE_ENTRY("cuTensorMapEncodeIm2colWide", 12080, cuTensorMapEncodeIm2colWide),
      SLUICE_ENTRY("cuTensorMapReplaceAddress", 12000, cuTensorMapReplaceAddress),
      SLUICE_ENTRY("cuTensorMapSetAllocationClass", 13050, cuTensorMapSetAllocationClass),
  };
  return entries;
}

}  // namespace sluice::softgpu
