#include "softgpu/texture_format.h"

#include "common/array_format.h"

namespace sluice::softgpu {
namespace {

using ptx::TexelKind;

bool set(ptx::TextureView* view, TexelKind kind, unsigned channels, unsigned channel_bytes) {
  view->kind = kind;
  view->channels = static_cast<uint8_t>(channels);
  view->channel_bytes = static_cast<uint8_t>(channel_bytes);
  view->element_bytes = static_cast<uint8_t>(channels * channel_bytes);
  return true;
}

bool set_block(ptx::TextureView* view, CUarray_format format, unsigned channels, unsigned block_bytes) {
  set(view, TexelKind::kBlock, channels, 1);
  view->format = format;
  view->element_bytes = static_cast<uint8_t>(block_bytes);
  return true;
}

}  // namespace

bool set_format(CUarray_format format, unsigned channels, ptx::TextureView* view) {
  const auto element = sluice::element_layout(format, channels);
  if (!element) return false;
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_YUY2:
    case CU_AD_FORMAT_AYUV:
    case CU_AD_FORMAT_UINT8_PACKED_444:
    case CU_AD_FORMAT_Y210:
    case CU_AD_FORMAT_Y216:
    case CU_AD_FORMAT_Y416:
      return set(view, TexelKind::kUnsigned, channels, element->bytes / channels);
    case CU_AD_FORMAT_SIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT32:
      return set(view, TexelKind::kSigned, channels, element->bytes / channels);
    case CU_AD_FORMAT_HALF:
    case CU_AD_FORMAT_FLOAT:
      return set(view, TexelKind::kFloat, channels, element->bytes / channels);
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_UNORM_INT16X4:
      return set(view, TexelKind::kUnorm, channels, element->bytes / channels);
    case CU_AD_FORMAT_SNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X4:
      return set(view, TexelKind::kSnorm, channels, element->bytes / channels);
    case CU_AD_FORMAT_UNORM_INT_101010_2:
    case CU_AD_FORMAT_Y410:
      return set(view, TexelKind::kUnorm1010102, channels, 1);
    default:
      return element->edge == 4 && set_block(view, format, channels, element->bytes);
  }
}

bool is_block_view(CUresourceViewFormat format) {
  return format >= CU_RES_VIEW_FORMAT_UNSIGNED_BC1 && format <= CU_RES_VIEW_FORMAT_UNSIGNED_BC7;
}

bool set_view_format(CUresourceViewFormat format, ptx::TextureView* view) {
  // Groups of three: one, two and four channels.
  if (format >= CU_RES_VIEW_FORMAT_UINT_1X8 && format <= CU_RES_VIEW_FORMAT_FLOAT_4X32) {
    const unsigned place = static_cast<unsigned>(format) - CU_RES_VIEW_FORMAT_UINT_1X8;
    const unsigned group = place / 3;
    const unsigned channels = 1u << place % 3;
    switch (group) {
      case 0:
      case 2:
      case 4:
        return set(view, TexelKind::kUnsigned, channels, 1u << group / 2);
      case 1:
      case 3:
      case 5:
        return set(view, TexelKind::kSigned, channels, 1u << group / 2);
      default:
        return set(view, TexelKind::kFloat, channels, group == 6 ? 2 : 4);
    }
  }
  switch (format) {
    case CU_RES_VIEW_FORMAT_UNSIGNED_BC1:
      return set_block(view, CU_AD_FORMAT_BC1_UNORM, 4, 8);
    case CU_RES_VIEW_FORMAT_UNSIGNED_BC2:
      return set_block(view, CU_AD_FORMAT_BC2_UNORM, 4, 16);
    case CU_RES_VIEW_FORMAT_UNSIGNED_BC3:
      return set_block(view, CU_AD_FORMAT_BC3_UNORM, 4, 16);
    case CU_RES_VIEW_FORMAT_UNSIGNED_BC4:
      return set_block(view, CU_AD_FORMAT_BC4_UNORM, 1, 8);
    case CU_RES_VIEW_FORMAT_SIGNED_BC4:
      return set_block(view, CU_AD_FORMAT_BC4_SNORM, 1, 8);
    case CU_RES_VIEW_FORMAT_UNSIGNED_BC5:
      return set_block(view, CU_AD_FORMAT_BC5_UNORM, 2, 16);
    case CU_RES_VIEW_FORMAT_SIGNED_BC5:
      return set_block(view, CU_AD_FORMAT_BC5_SNORM, 2, 16);
    case CU_RES_VIEW_FORMAT_UNSIGNED_BC6H:
      return set_block(view, CU_AD_FORMAT_BC6H_UF16, 3, 16);
    case CU_RES_VIEW_FORMAT_SIGNED_BC6H:
      return set_block(view, CU_AD_FORMAT_BC6H_SF16, 3, 16);
    case CU_RES_VIEW_FORMAT_UNSIGNED_BC7:
      return set_block(view, CU_AD_FORMAT_BC7_UNORM, 4, 16);
    default:
      return false;
  }
}

}  // namespace sluice::softgpu
