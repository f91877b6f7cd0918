#include "softgpu/texture.h"

#include <algorithm>

#include "softgpu/api.h"
#include "softgpu/array.h"
#include "softgpu/context.h"
#include "softgpu/texture_format.h"

namespace sluice::softgpu {
namespace {

constexpr unsigned kKnownFlags = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
                                 CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP;

size_t limit(const Context& context, CUdevice_attribute attribute) {
  int value = 0;
  return device_attribute(context.device, attribute, &value) == CUDA_SUCCESS ? static_cast<size_t>(value) : 0;
}

ptx::TextureShape shape_of(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  const bool layered = (d.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  if ((d.Flags & CUDA_ARRAY3D_CUBEMAP) != 0)
    return layered ? ptx::TextureShape::kCubeLayered : ptx::TextureShape::kCube;
  if (layered) return d.Height == 0 ? ptx::TextureShape::k1DLayered : ptx::TextureShape::k2DLayered;
  if (d.Depth != 0) return ptx::TextureShape::k3D;
  return d.Height == 0 ? ptx::TextureShape::k1D : ptx::TextureShape::k2D;
}

ptx::TextureLevel level_of(const Array& array) {
  const auto extent = [](size_t value) { return static_cast<uint32_t>(std::max<size_t>(1, value)); };
  return {array.address,
          array.pitch(),
          array.slice(),
          extent(array.descriptor.Width),
          extent(array.descriptor.Height),
          extent(array.descriptor.Depth)};
}

// Linear memory that the context may use, from its first to its last element.
CUresult describe_linear(const Context& context, CUdeviceptr address, CUarray_format format,
                         unsigned channels, size_t bytes, ptx::TextureView* out) {
  if (!set_format(format, channels, out) || out->kind == ptx::TexelKind::kBlock)
    return CUDA_ERROR_INVALID_VALUE;
  if (address % limit(context, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT) != 0 || bytes < out->element_bytes)
    return CUDA_ERROR_INVALID_VALUE;
  out->levels[0].address = address;
  return check_range(context, address, bytes);
}

CUresult describe_buffer(const Context& context, const CUDA_RESOURCE_DESC& resource, ptx::TextureView* out) {
  const auto& linear = resource.res.linear;
  SLUICE_TRY(
      describe_linear(context, linear.devPtr, linear.format, linear.numChannels, linear.sizeInBytes, out));
  const size_t elements = linear.sizeInBytes / out->element_bytes;
  if (elements > limit(context, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH))
    return CUDA_ERROR_INVALID_VALUE;
  out->shape = ptx::TextureShape::kBuffer;
  out->levels[0].width = static_cast<uint32_t>(elements);
  out->levels[0].pitch = out->levels[0].slice = elements * out->element_bytes;
  return CUDA_SUCCESS;
}

CUresult describe_pitched(const Context& context, const CUDA_RESOURCE_DESC& resource, ptx::TextureView* out) {
  const auto& p = resource.res.pitch2D;
  if (p.width == 0 || p.height == 0 ||
      p.width > limit(context, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH) ||
      p.height > limit(context, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT) ||
      p.pitchInBytes > limit(context, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH) ||
      p.pitchInBytes % limit(context, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto element = sluice::element_layout(p.format, p.numChannels);
  if (!element || p.width * element->bytes > p.pitchInBytes) return CUDA_ERROR_INVALID_VALUE;
  const size_t bytes = p.pitchInBytes * (p.height - 1) + p.width * element->bytes;
  SLUICE_TRY(describe_linear(context, p.devPtr, p.format, p.numChannels, bytes, out));
  out->shape = ptx::TextureShape::k2D;
  out->levels[0].pitch = p.pitchInBytes;
  out->levels[0].slice = p.pitchInBytes * p.height;
  out->levels[0].width = static_cast<uint32_t>(p.width);
  out->levels[0].height = static_cast<uint32_t>(p.height);
  return CUDA_SUCCESS;
}

CUresult describe_array(const CUDA_RESOURCE_DESC& resource, ptx::TextureView* out,
                        CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  const auto* array = lookup<Array>(resource.res.array.hArray);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *descriptor = array->descriptor;
  if (!array->has_elements() || !set_format(descriptor->Format, descriptor->NumChannels, out))
    return CUDA_ERROR_INVALID_VALUE;
  out->shape = shape_of(*descriptor);
  out->levels[0] = level_of(*array);
  return CUDA_SUCCESS;
}

CUresult describe_mipmap(const CUDA_RESOURCE_DESC& resource, ptx::TextureView* out,
                         CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  const auto* mipmap = lookup<Mipmap>(resource.res.mipmap.hMipmappedArray);
  if (mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *descriptor = mipmap->descriptor;
  if (!set_format(descriptor->Format, descriptor->NumChannels, out)) return CUDA_ERROR_INVALID_VALUE;
  out->shape = shape_of(*descriptor);
  out->level_count = 0;
  for (const auto& level : mipmap->levels) {
    if (out->level_count < ptx::TextureView::kMaxLevels) out->levels[out->level_count++] = level_of(*level);
  }
  return CUDA_SUCCESS;
}

// Another format and a part of the levels and layers.
CUresult apply_view(const CUDA_RESOURCE_VIEW_DESC& v, const CUDA_ARRAY3D_DESCRIPTOR& d,
                    ptx::TextureView* out) {
  if (out->kind == ptx::TexelKind::kBlock) return CUDA_ERROR_INVALID_VALUE;
  const size_t before = out->element_bytes;
  const size_t factor = is_block_view(v.format) ? 4 : 1;
  if (v.format != CU_RES_VIEW_FORMAT_NONE) {
    const bool words = d.Format == CU_AD_FORMAT_UNSIGNED_INT32;
    if (!set_view_format(v.format, out) || out->element_bytes != before || (factor == 4 && !words))
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (v.width != d.Width * factor || v.height != d.Height * factor || v.depth != d.Depth)
    return CUDA_ERROR_INVALID_VALUE;
  if (v.firstMipmapLevel > v.lastMipmapLevel || v.lastMipmapLevel >= out->level_count ||
      v.firstLayer > v.lastLayer || (out->has_layers() ? v.lastLayer >= d.Depth : v.lastLayer != 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  out->level_count = v.lastMipmapLevel - v.firstMipmapLevel + 1;
  std::copy_n(out->levels + v.firstMipmapLevel, out->level_count, out->levels);
  for (unsigned i = 0; i < out->level_count; ++i) {
    ptx::TextureLevel& level = out->levels[i];
    level.width *= static_cast<uint32_t>(factor);
    level.height *= static_cast<uint32_t>(factor);
    if (!out->has_layers()) continue;
    level.address += v.firstLayer * level.slice;
    level.depth = v.lastLayer - v.firstLayer + 1;
  }
  return CUDA_SUCCESS;
}

CUresult apply_sampling(const CUDA_TEXTURE_DESC& s, ptx::TextureView* out) {
  out->normalized_coordinates = (s.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  out->read_as_integer = (s.flags & CU_TRSF_READ_AS_INTEGER) != 0;
  out->srgb = (s.flags & CU_TRSF_SRGB) != 0;
  out->seamless_cube = (s.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0;
  const auto is_filter = [](CUfilter_mode mode) {
    return mode == CU_TR_FILTER_MODE_POINT || mode == CU_TR_FILTER_MODE_LINEAR;
  };
  if ((s.flags & ~kKnownFlags) != 0 || !is_filter(s.filterMode) || !is_filter(s.mipmapFilterMode))
    return CUDA_ERROR_INVALID_VALUE;
  for (int i = 0; i < 3; ++i) {
    CUaddress_mode mode = s.addressMode[i];
    if (mode < CU_TR_ADDRESS_MODE_WRAP || mode > CU_TR_ADDRESS_MODE_BORDER) return CUDA_ERROR_INVALID_VALUE;
    // Going round needs normalized coordinates.
    const bool goes_round = mode == CU_TR_ADDRESS_MODE_WRAP || mode == CU_TR_ADDRESS_MODE_MIRROR;
    out->address_mode[i] = goes_round && !out->normalized_coordinates ? CU_TR_ADDRESS_MODE_CLAMP : mode;
  }
  const bool is_cube =
      out->shape == ptx::TextureShape::kCube || out->shape == ptx::TextureShape::kCubeLayered;
  if (out->seamless_cube && !is_cube) return CUDA_ERROR_INVALID_VALUE;
  if (out->shape == ptx::TextureShape::kBuffer) return CUDA_SUCCESS;  // read by index, never filtered
  // Integers cannot be interpolated.
  if (s.filterMode == CU_TR_FILTER_MODE_LINEAR && !out->reads_float()) return CUDA_ERROR_INVALID_VALUE;
  out->filter = s.filterMode;
  out->mipmap_filter = s.mipmapFilterMode;
  out->max_anisotropy = std::clamp(s.maxAnisotropy, 1u, 16u);
  out->level_bias = s.mipmapLevelBias;
  out->min_level = s.minMipmapLevelClamp;
  out->max_level = s.maxMipmapLevelClamp;
  std::copy_n(s.borderColor, 4, out->border);
  return CUDA_SUCCESS;
}

class AllTextures final : public ptx::Textures {
  const ptx::TextureView* texture(uint64_t object) const override {
    const auto* found = lookup<Texture>(reinterpret_cast<const void*>(object));
    return found == nullptr ? nullptr : &found->view;
  }
  const ptx::TextureView* surface(uint64_t object) const override {
    const auto* found = lookup<Surface>(reinterpret_cast<const void*>(object));
    return found == nullptr ? nullptr : &found->view;
  }
};

}  // namespace

Texture::Texture(Context& owner, const CUDA_RESOURCE_DESC& from, const CUDA_TEXTURE_DESC& how,
                 const CUDA_RESOURCE_VIEW_DESC* seen_as, const ptx::TextureView& described)
    : context(owner),
      resource(from),
      sampling(how),
      resource_view(seen_as == nullptr ? std::nullopt : std::optional(*seen_as)),
      view(described),
      handle_(create_handle(kKind, this)) {}

Surface::Surface(Context& owner, const CUDA_RESOURCE_DESC& from, const ptx::TextureView& described)
    : context(owner), resource(from), view(described), handle_(create_handle(kKind, this)) {}

TextureObjects& texture_objects(Context& context) {
  const std::lock_guard lock(context.objects_mutex);
  if (!context.textures) context.textures = std::make_shared<TextureObjects>();
  return *context.textures;
}

CUresult describe_texture(const Context& context, const CUDA_RESOURCE_DESC& resource,
                          const CUDA_TEXTURE_DESC& sampling, const CUDA_RESOURCE_VIEW_DESC* resource_view,
                          ptx::TextureView* out) {
  *out = {};
  if (resource.flags != 0) return CUDA_ERROR_INVALID_VALUE;
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      SLUICE_TRY(describe_array(resource, out, &descriptor));
      break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      if ((sampling.flags & CU_TRSF_NORMALIZED_COORDINATES) == 0) return CUDA_ERROR_INVALID_VALUE;
      SLUICE_TRY(describe_mipmap(resource, out, &descriptor));
      break;
    case CU_RESOURCE_TYPE_LINEAR:
      SLUICE_TRY(describe_buffer(context, resource, out));
      break;
    case CU_RESOURCE_TYPE_PITCH2D:
      SLUICE_TRY(describe_pitched(context, resource, out));
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (resource_view != nullptr) {
    if (descriptor.Width == 0) return CUDA_ERROR_INVALID_VALUE;  // of arrays only
    SLUICE_TRY(apply_view(*resource_view, descriptor, out));
  }
  return apply_sampling(sampling, out);
}

CUresult describe_surface(const CUDA_RESOURCE_DESC& resource, ptx::TextureView* out) {
  *out = {};
  if (resource.resType != CU_RESOURCE_TYPE_ARRAY || resource.flags != 0) return CUDA_ERROR_INVALID_VALUE;
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  SLUICE_TRY(describe_array(resource, out, &descriptor));
  return (descriptor.Flags & CUDA_ARRAY3D_SURFACE_LDST) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

const ptx::Textures& all_textures() {
  static const auto* instance = new AllTextures;
  return *instance;
}

}  // namespace sluice::softgpu
