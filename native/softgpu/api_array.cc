// Arrays and mipmapped arrays.
#include "softgpu/api.h"
#include "softgpu/array.h"
#include "softgpu/context.h"

namespace sluice::softgpu {
namespace {

template <typename Object>
CUresult find(const void* handle, Object** out) {
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  *out = lookup<Object>(handle);
  return *out == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult create(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  Array* array;
  SLUICE_TRY(create_array(*context, descriptor, &array));
  *out = array->handle();
  return CUDA_SUCCESS;
}

// The older structures, with extents of 32 bits or without the depth and the flags.
template <typename Descriptor>
CUDA_ARRAY3D_DESCRIPTOR widened(const Descriptor& given) {
  CUDA_ARRAY3D_DESCRIPTOR out{given.Width, given.Height, 0, given.Format, given.NumChannels, 0};
  if constexpr (requires { given.Depth; }) {
    out.Depth = given.Depth;
    out.Flags = given.Flags;
  }
  return out;
}

template <typename Descriptor>
CUresult describe(Descriptor* out, CUarray handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Array* array;
  SLUICE_TRY(find(handle, &array));
  const CUDA_ARRAY3D_DESCRIPTOR& d = array->descriptor;
  out->Width = static_cast<decltype(out->Width)>(d.Width);
  out->Height = static_cast<decltype(out->Height)>(d.Height);
  out->Format = d.Format;
  out->NumChannels = d.NumChannels;
  if constexpr (requires { out->Depth; }) {
    out->Depth = static_cast<decltype(out->Depth)>(d.Depth);
    out->Flags = d.Flags;
  }
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

#define SLUICE_ARRAY_CREATE(symbol, Descriptor)                   \
  SLUICE_API symbol(CUarray* out, const Descriptor* descriptor) { \
    return api([&]() -> CUresult {                                \
      if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE; \
      return create(out, widened(*descriptor));                   \
    });                                                           \
  }
#define SLUICE_ARRAY_DESCRIBE(symbol, Descriptor)      \
  SLUICE_API symbol(Descriptor* out, CUarray handle) { \
    return api([&] { return describe(out, handle); }); \
  }

SLUICE_ARRAY_CREATE(cuArrayCreate, CUDA_ARRAY_DESCRIPTOR_v1)
SLUICE_ARRAY_CREATE(cuArrayCreate_v2, CUDA_ARRAY_DESCRIPTOR)
SLUICE_ARRAY_CREATE(cuArray3DCreate, CUDA_ARRAY3D_DESCRIPTOR_v1)
SLUICE_ARRAY_CREATE(cuArray3DCreate_v2, CUDA_ARRAY3D_DESCRIPTOR)
SLUICE_ARRAY_DESCRIBE(cuArrayGetDescriptor, CUDA_ARRAY_DESCRIPTOR_v1)
SLUICE_ARRAY_DESCRIBE(cuArrayGetDescriptor_v2, CUDA_ARRAY_DESCRIPTOR)
SLUICE_ARRAY_DESCRIBE(cuArray3DGetDescriptor, CUDA_ARRAY3D_DESCRIPTOR_v1)
SLUICE_ARRAY_DESCRIBE(cuArray3DGetDescriptor_v2, CUDA_ARRAY3D_DESCRIPTOR)

SLUICE_API cuArrayDestroy(CUarray handle) {
  return api([&]() -> CUresult {
    Array* array;
    SLUICE_TRY(find(handle, &array));
    if (!array->stands_alone()) return CUDA_ERROR_INVALID_HANDLE;  // goes with what it is a part of
    destroy(*array);
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuArrayGetPlane(CUarray* out, CUarray handle, unsigned index) {
  return api([&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Array* array;
    SLUICE_TRY(find(handle, &array));
    Array* plane = array->plane(index);
    if (plane == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = plane->handle();
    return CUDA_SUCCESS;
  });
}

// No array of this device is sparse or mapped later: attributes and cuArray3DCreate say so.
SLUICE_API cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES*, CUarray handle) {
  return api([&]() -> CUresult {
    Array* array;
    SLUICE_TRY(find(handle, &array));
    return CUDA_ERROR_INVALID_VALUE;
  });
}
SLUICE_API cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES*, CUmipmappedArray handle) {
  return api([&]() -> CUresult {
    Mipmap* mipmap;
    SLUICE_TRY(find(handle, &mipmap));
    return CUDA_ERROR_INVALID_VALUE;
  });
}
SLUICE_API cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS*, CUarray handle, CUdevice) {
  return api([&]() -> CUresult {
    Array* array;
    SLUICE_TRY(find(handle, &array));
    return CUDA_ERROR_INVALID_VALUE;
  });
}
SLUICE_API cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS*, CUmipmappedArray handle,
                                                 CUdevice) {
  return api([&]() -> CUresult {
    Mipmap* mipmap;
    SLUICE_TRY(find(handle, &mipmap));
    return CUDA_ERROR_INVALID_VALUE;
  });
}

SLUICE_API cuMipmappedArrayCreate(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* descriptor,
                                  unsigned levels) {
  return api([&]() -> CUresult {
    if (out == nullptr || descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* context;
    SLUICE_TRY(healthy_context(&context));
    Mipmap* mipmap;
    SLUICE_TRY(create_mipmap(*context, *descriptor, levels, &mipmap));
    *out = mipmap->handle();
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuMipmappedArrayGetLevel(CUarray* out, CUmipmappedArray handle, unsigned level) {
  return api([&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Mipmap* mipmap;
    SLUICE_TRY(find(handle, &mipmap));
    if (level >= mipmap->levels.size()) return CUDA_ERROR_INVALID_VALUE;
    *out = mipmap->levels[level]->handle();
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuMipmappedArrayDestroy(CUmipmappedArray handle) {
  return api([&]() -> CUresult {
    Mipmap* mipmap;
    SLUICE_TRY(find(handle, &mipmap));
    destroy(*mipmap);
    return CUDA_SUCCESS;
  });
}

// The device's limit holds for elements of each size alike.
SLUICE_API cuDeviceGetTexture1DLinearMaxWidth(size_t* out, CUarray_format format, unsigned channels,
                                              CUdevice ordinal) {
  return api([&]() -> CUresult {
    if (out == nullptr || !sluice::element_layout(format, channels)) return CUDA_ERROR_INVALID_VALUE;
    const Device* device = driver()->device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    int width = 0;
    SLUICE_TRY(device_attribute(*device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, &width));
    *out = static_cast<size_t>(width);
    return CUDA_SUCCESS;
  });
}

namespace sluice::softgpu {

std::span<const Entry> array_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuArrayCreate", 2000, cuArrayCreate),
      SLUICE_ENTRY("cuArrayCreate", 3020, cuArrayCreate_v2),
      SLUICE_ENTRY("cuArray3DCreate", 2000, cuArray3DCreate),
      SLUICE_ENTRY("cuArray3DCreate", 3020, cuArray3DCreate_v2),
      SLUICE_ENTRY("cuArrayGetDescriptor", 2000, cuArrayGetDescriptor),
      SLUICE_ENTRY("cuArrayGetDescriptor", 3020, cuArrayGetDescriptor_v2),
      SLUICE_ENTRY("cuArray3DGetDescriptor", 2000, cuArray3DGetDescriptor),
      SLUICE_ENTRY("cuArray3DGetDescriptor", 3020, cuArray3DGetDescriptor_v2),
      SLUICE_ENTRY("cuArrayDestroy", 2000, cuArrayDestroy),
      SLUICE_ENTRY("cuArrayGetPlane", 11020, cuArrayGetPlane),
      SLUICE_ENTRY("cuArrayGetSparseProperties", 11010, cuArrayGetSparseProperties),
      SLUICE_ENTRY("cuMipmappedArrayGetSparseProperties", 11010, cuMipmappedArrayGetSparseProperties),
      SLUICE_ENTRY("cuArrayGetMemoryRequirements", 11060, cuArrayGetMemoryRequirements),
      SLUICE_ENTRY("cuMipmappedArrayGetMemoryRequirements", 11060, cuMipmappedArrayGetMemoryRequirements),
      SLUICE_ENTRY("cuMipmappedArrayCreate", 5000, cuMipmappedArrayCreate),
      SLUICE_ENTRY("cuMipmappedArrayGetLevel", 5000, cuMipmappedArrayGetLevel),
      SLUICE_ENTRY("cuMipmappedArrayDestroy", 5000, cuMipmappedArrayDestroy),
      SLUICE_ENTRY("cuDeviceGetTexture1DLinearMaxWidth", 11010, cuDeviceGetTexture1DLinearMaxWidth),
  };
  return entries;
}

}  // namespace sluice::softgpu
