#include "softgpu/array.h"

#include <algorithm>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/device.h"
#include "softgpu/memory.h"

namespace sluice::softgpu {
namespace {

constexpr unsigned kKnownFlags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
                                 CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_DEPTH_TEXTURE |
                                 CUDA_ARRAY3D_COLOR_ATTACHMENT | CUDA_ARRAY3D_SPARSE |
                                 CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;
// Flags of memory that is mapped later, or that hardware units which do not exist here would use.
constexpr unsigned kUnsupportedFlags =
    CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;

struct Limits {
  CUdevice_attribute width;
  CUdevice_attribute height;  // CU_DEVICE_ATTRIBUTE_MAX: none
  CUdevice_attribute depth;
};
constexpr CUdevice_attribute kNone = CU_DEVICE_ATTRIBUTE_MAX;

struct Shape {
  Limits texture;
  Limits surface;
};

// The row of the manual's table of extents that applies.
Shape shape_of(const CUDA_ARRAY3D_DESCRIPTOR& d, bool mipmapped) {
  const bool layered = (d.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  if ((d.Flags & CUDA_ARRAY3D_CUBEMAP) != 0) {
    if (layered) {
      return {{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH,
               CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH,
               CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS},
              {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH,
               CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH,
               CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS}};
    }
    return {{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH,
             CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH, kNone},
            {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH,
             CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH, kNone}};
  }
  if (layered && d.Height == 0) {
    return {{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, kNone,
             CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS},
            {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH, kNone,
             CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS}};
  }
  if (layered) {
    return {{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH,
             CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT,
             CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS},
            {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH,
             CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT,
             CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS}};
  }
  if (d.Depth > 0) {
    return {{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT,
             CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH},
            {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT,
             CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH}};
  }
  if (d.Height == 0) {
    return {{mipmapped ? CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH
                       : CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH,
             kNone, kNone},
            {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH, kNone, kNone}};
  }
  const Limits surface{CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH,
                       CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT, kNone};
  if ((d.Flags & CUDA_ARRAY3D_TEXTURE_GATHER) != 0) {
    return {{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH,
             CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT, kNone},
            surface};
  }
  if (mipmapped) {
    return {{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH,
             CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT, kNone},
            surface};
  }
  return {{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, kNone},
          surface};
}

bool within(const Device& device, const CUDA_ARRAY3D_DESCRIPTOR& d, const Limits& limits) {
  const auto fits = [&](CUdevice_attribute attribute, size_t extent) {
    int most = 0;
    if (attribute == kNone) return true;
    return device_attribute(device, attribute, &most) == CUDA_SUCCESS && extent <= static_cast<size_t>(most);
  };
  return fits(limits.width, d.Width) && fits(limits.height, d.Height) && fits(limits.depth, d.Depth);
}

ElementLayout layout_of(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  return element_layout(descriptor.Format, descriptor.NumChannels).value_or(ElementLayout{});
}

ArrayObjects& objects_of(Context& context) {
  const std::lock_guard lock(context.objects_mutex);
  if (!context.arrays) context.arrays = std::make_shared<ArrayObjects>();
  return *context.arrays;
}

}  // namespace

CUresult ArrayStorage::allocate(Context& context, uint64_t bytes, std::unique_ptr<ArrayStorage>* out) {
  uint64_t address = 0;
  SLUICE_TRY(allocate_device(context, bytes, MemoryKind::kArray, 0, nullptr, false, &address));
  out->reset(new ArrayStorage(address));
  return CUDA_SUCCESS;
}

ArrayStorage::~ArrayStorage() {
  if (const auto removed = memory_registry().remove(address_)) dispose(*removed);
}

Array::Array(Context& owner, const CUDA_ARRAY3D_DESCRIPTOR& given, uint64_t at)
    : context(owner),
      descriptor(given),
      element(layout_of(given)),
      extent(array_extent(given, element)),
      address(at),
      handle_(create_handle(kKind, this)) {}

Array::~Array() { destroy_handle(handle_); }

Array* Array::plane(unsigned index) {
  const auto layouts = planes_of(descriptor.Format);
  if (index >= layouts.size()) return nullptr;
  const std::lock_guard lock(mutex_);
  if (planes_.empty()) {
    uint64_t at = address;
    for (const PlaneLayout& layout : layouts) {
      const CUDA_ARRAY3D_DESCRIPTOR plane = plane_descriptor(descriptor, layout);
      planes_.push_back(std::make_unique<Array>(context, plane, at));
      at += planes_.back()->slice() * planes_.back()->extent.slices;
    }
  }
  return planes_[index].get();
}

Mipmap::Mipmap(Context& owner, const CUDA_ARRAY3D_DESCRIPTOR& given, unsigned count,
               std::unique_ptr<ArrayStorage> memory)
    : context(owner), descriptor(given), storage(std::move(memory)), handle_(create_handle(kKind, this)) {
  uint64_t at = storage->address();
  for (unsigned level = 0; level < count; ++level) {
    levels.push_back(std::make_unique<Array>(owner, level_descriptor(given, level), at));
    at += levels.back()->slice() * levels.back()->extent.slices;
  }
}

Mipmap::~Mipmap() { destroy_handle(handle_); }

CUresult check_descriptor(const Device& device, const CUDA_ARRAY3D_DESCRIPTOR& d, bool mipmapped) {
  const bool layered = (d.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  const bool cubemap = (d.Flags & CUDA_ARRAY3D_CUBEMAP) != 0;
  if (d.Width == 0 || (d.Flags & ~kKnownFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  const bool planar = !planes_of(d.Format).empty();
  if (planar ? d.NumChannels != kPlanarChannels : !element_layout(d.Format, d.NumChannels))
    return CUDA_ERROR_INVALID_VALUE;
  // Planes and blocks exist in two dimensions.
  if (planar && (d.Height == 0 || d.Depth != 0 || mipmapped)) return CUDA_ERROR_INVALID_VALUE;
  if (layered && d.Depth == 0) return CUDA_ERROR_INVALID_VALUE;
  if (!layered && d.Height == 0 && d.Depth != 0) return CUDA_ERROR_INVALID_VALUE;
  if (cubemap && (d.Width != d.Height || (layered ? d.Depth % 6 != 0 : d.Depth != 6)))
    return CUDA_ERROR_INVALID_VALUE;
  if ((d.Flags & CUDA_ARRAY3D_TEXTURE_GATHER) != 0 && (d.Height == 0 || d.Depth != 0))
    return CUDA_ERROR_INVALID_VALUE;
  const Shape shape = shape_of(d, mipmapped);
  const bool alternate = d.Depth > 0 && !layered && !cubemap &&
                         within(device, d,
                                {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE,
                                 CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE,
                                 CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE});
  if (!within(device, d, shape.texture) && !alternate) return CUDA_ERROR_INVALID_VALUE;
  if ((d.Flags & CUDA_ARRAY3D_SURFACE_LDST) != 0 && !within(device, d, shape.surface))
    return CUDA_ERROR_INVALID_VALUE;
  return (d.Flags & kUnsupportedFlags) != 0 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

CUresult create_array(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor, Array** out) {
  SLUICE_TRY(check_descriptor(context.device, descriptor, false));
  const auto bytes = array_bytes(descriptor);
  if (!bytes || *bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  std::unique_ptr<ArrayStorage> storage;
  SLUICE_TRY(ArrayStorage::allocate(context, *bytes, &storage));
  auto created = std::make_unique<Array>(context, descriptor, storage->address());
  created->storage = std::move(storage);
  *out = created.get();
  ArrayObjects& objects = objects_of(context);
  const std::lock_guard lock(objects.mutex);
  objects.arrays[created.get()] = std::move(created);
  return CUDA_SUCCESS;
}

CUresult create_mipmap(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels,
                       Mipmap** out) {
  SLUICE_TRY(check_descriptor(context.device, descriptor, true));
  const unsigned count = std::clamp(levels, 1u, most_levels(descriptor));
  const auto bytes = mipmap_bytes(descriptor, count);
  if (!bytes || *bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  std::unique_ptr<ArrayStorage> storage;
  SLUICE_TRY(ArrayStorage::allocate(context, *bytes, &storage));
  auto created = std::make_unique<Mipmap>(context, descriptor, count, std::move(storage));
  *out = created.get();
  ArrayObjects& objects = objects_of(context);
  const std::lock_guard lock(objects.mutex);
  objects.mipmaps[created.get()] = std::move(created);
  return CUDA_SUCCESS;
}

void destroy(Array& array) {
  array.context.synchronize();
  ArrayObjects& objects = objects_of(array.context);
  const std::lock_guard lock(objects.mutex);
  objects.arrays.erase(&array);
}

void destroy(Mipmap& mipmap) {
  mipmap.context.synchronize();
  ArrayObjects& objects = objects_of(mipmap.context);
  const std::lock_guard lock(objects.mutex);
  objects.mipmaps.erase(&mipmap);
}

}  // namespace sluice::softgpu
