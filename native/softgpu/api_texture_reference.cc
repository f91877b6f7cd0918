// Texture references: what programs set up before there were texture objects. One that a program makes can be
// set and asked. References in modules are of no use here, because the engine runs no instruction that reads
// through one: asking for such a variable says so.
#include <algorithm>

#include "common/array_format.h"
#include "softgpu/api.h"
#include "softgpu/array.h"
#include "softgpu/context.h"
#include "softgpu/module.h"
#include "softgpu/texture.h"

namespace sluice::softgpu {
namespace {

CUresult find(CUtexref handle, TextureReference** out) {
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  *out = lookup<TextureReference>(handle);
  return *out == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

// Runs the body on the reference.
template <typename Body>
CUresult with(CUtexref handle, Body&& body) {
  return api([&]() -> CUresult {
    TextureReference* reference;
    SLUICE_TRY(find(handle, &reference));
    return body(*reference);
  });
}

template <typename T>
CUresult give(CUtexref handle, T* out, T CUDA_TEXTURE_DESC::*member) {
  return with(handle, [&](TextureReference& reference) {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = reference.sampling.*member;
    return CUDA_SUCCESS;
  });
}

bool is_filter(CUfilter_mode mode) {
  return mode == CU_TR_FILTER_MODE_POINT || mode == CU_TR_FILTER_MODE_LINEAR;
}

CUresult from_module(CUmodule handle, const char* name) {
  return api([&]() -> CUresult {
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* context;
    SLUICE_TRY(healthy_context(&context));
    const auto* module = lookup<Module>(handle);
    if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    uint64_t address = 0, bytes = 0;
    return module->variable(name, &address, &bytes) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_NOT_FOUND;
  });
}

// The elements of an array are as they are: references may only repeat its format.
CUresult bind(TextureReference& reference, const CUDA_RESOURCE_DESC& resource,
              const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned flags) {
  if (flags != CU_TRSA_OVERRIDE_FORMAT) return CUDA_ERROR_INVALID_VALUE;
  reference.resource = resource;
  reference.format = descriptor.Format;
  reference.channels = descriptor.NumChannels;
  return CUDA_SUCCESS;
}

CUresult set_linear(TextureReference& reference, CUdeviceptr address, size_t bytes) {
  if (address % 512 != 0) return CUDA_ERROR_INVALID_VALUE;  // the device's texture alignment
  SLUICE_TRY(check_range(reference.context, address, bytes));
  reference.resource = {};
  reference.resource.resType = CU_RESOURCE_TYPE_LINEAR;
  auto& linear = reference.resource.res.linear;
  linear.devPtr = address;
  linear.format = reference.format;
  linear.numChannels = reference.channels;
  linear.sizeInBytes = bytes;
  return CUDA_SUCCESS;
}

CUresult set_pitched(TextureReference& reference, const CUDA_ARRAY_DESCRIPTOR& d, CUdeviceptr address,
                     size_t pitch) {
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_PITCH2D;
  resource.res.pitch2D = {address, d.Format, d.NumChannels, d.Width, d.Height, pitch};
  ptx::TextureView view;
  CUDA_TEXTURE_DESC sampling = reference.sampling;
  sampling.filterMode = CU_TR_FILTER_MODE_POINT;
  SLUICE_TRY(describe_texture(reference.context, resource, sampling, nullptr, &view));
  reference.resource = resource;
  reference.format = d.Format;
  reference.channels = d.NumChannels;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuModuleGetTexRef(CUtexref*, CUmodule module, const char* name) {
  return from_module(module, name);
}
SLUICE_API cuModuleGetSurfRef(CUsurfref*, CUmodule module, const char* name) {
  return from_module(module, name);
}
// There is no surface reference to name: those are of modules only.
SLUICE_API cuSurfRefSetArray(CUsurfref, CUarray, unsigned) {
  return api([]() -> CUresult { return CUDA_ERROR_INVALID_HANDLE; });
}
SLUICE_API cuSurfRefGetArray(CUarray*, CUsurfref) {
  return api([]() -> CUresult { return CUDA_ERROR_INVALID_HANDLE; });
}

SLUICE_API cuTexRefCreate(CUtexref* out) {
  return api([&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* context;
    SLUICE_TRY(healthy_context(&context));
    auto created = std::make_unique<TextureReference>(*context);
    *out = created->handle();
    TextureObjects& objects = texture_objects(*context);
    const std::lock_guard lock(objects.mutex);
    objects.references[created.get()] = std::move(created);
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuTexRefDestroy(CUtexref handle) {
  return with(handle, [](TextureReference& reference) {
    TextureObjects& objects = texture_objects(reference.context);
    const std::lock_guard lock(objects.mutex);
    objects.references.erase(&reference);
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuTexRefSetArray(CUtexref handle, CUarray array_handle, unsigned flags) {
  return with(handle, [&](TextureReference& reference) {
    const auto* array = lookup<Array>(array_handle);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array_handle;
    return bind(reference, resource, array->descriptor, flags);
  });
}
SLUICE_API cuTexRefSetMipmappedArray(CUtexref handle, CUmipmappedArray mipmap_handle, unsigned flags) {
  return with(handle, [&](TextureReference& reference) {
    const auto* mipmap = lookup<Mipmap>(mipmap_handle);
    if (mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    resource.res.mipmap.hMipmappedArray = mipmap_handle;
    return bind(reference, resource, mipmap->descriptor, flags);
  });
}
SLUICE_API cuTexRefSetAddress_v2(size_t* offset, CUtexref handle, CUdeviceptr address, size_t bytes) {
  return with(handle, [&](TextureReference& reference) {
    SLUICE_TRY(set_linear(reference, address, bytes));
    if (offset != nullptr) *offset = 0;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuTexRefSetAddress2D_v3(CUtexref handle, const CUDA_ARRAY_DESCRIPTOR* descriptor,
                                   CUdeviceptr address, size_t pitch) {
  return with(handle, [&](TextureReference& reference) {
    return descriptor == nullptr ? CUDA_ERROR_INVALID_VALUE
                                 : set_pitched(reference, *descriptor, address, pitch);
  });
}
SLUICE_API cuTexRefSetAddress2D_v2(CUtexref handle, const CUDA_ARRAY_DESCRIPTOR* descriptor,
                                   CUdeviceptr address, size_t pitch) {
  return cuTexRefSetAddress2D_v3(handle, descriptor, address, pitch);
}
SLUICE_API cuTexRefSetFormat(CUtexref handle, CUarray_format format, int channels) {
  return with(handle, [&](TextureReference& reference) {
    if (channels <= 0 || !sluice::element_layout(format, static_cast<unsigned>(channels)))
      return CUDA_ERROR_INVALID_VALUE;
    reference.format = format;
    reference.channels = static_cast<unsigned>(channels);
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuTexRefSetAddressMode(CUtexref handle, int dimension, CUaddress_mode mode) {
  return with(handle, [&](TextureReference& reference) {
    if (dimension < 0 || dimension > 2 || mode < CU_TR_ADDRESS_MODE_WRAP || mode > CU_TR_ADDRESS_MODE_BORDER)
      return CUDA_ERROR_INVALID_VALUE;
    reference.sampling.addressMode[dimension] = mode;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuTexRefSetFilterMode(CUtexref handle, CUfilter_mode mode) {
  return with(handle, [&](TextureReference& reference) {
    if (!is_filter(mode)) return CUDA_ERROR_INVALID_VALUE;
    reference.sampling.filterMode = mode;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuTexRefSetMipmapFilterMode(CUtexref handle, CUfilter_mode mode) {
  return with(handle, [&](TextureReference& reference) {
    if (!is_filter(mode)) return CUDA_ERROR_INVALID_VALUE;
    reference.sampling.mipmapFilterMode = mode;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuTexRefSetMipmapLevelBias(CUtexref handle, float bias) {
  return with(handle, [&](TextureReference& reference) {
    reference.sampling.mipmapLevelBias = bias;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuTexRefSetMipmapLevelClamp(CUtexref handle, float least, float most) {
  return with(handle, [&](TextureReference& reference) {
    reference.sampling.minMipmapLevelClamp = least;
    reference.sampling.maxMipmapLevelClamp = most;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuTexRefSetMaxAnisotropy(CUtexref handle, unsigned most) {
  return with(handle, [&](TextureReference& reference) {
    reference.sampling.maxAnisotropy = std::clamp(most, 1u, 16u);
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuTexRefSetBorderColor(CUtexref handle, float* color) {
  return with(handle, [&](TextureReference& reference) {
    if (color == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::copy_n(color, 4, reference.sampling.borderColor);
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuTexRefSetFlags(CUtexref handle, unsigned flags) {
  return with(handle, [&](TextureReference& reference) {
    constexpr unsigned kKnown = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
                                CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
    if ((flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
    reference.sampling.flags = flags;
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuTexRefGetAddress_v2(CUdeviceptr* out, CUtexref handle) {
  return with(handle, [&](TextureReference& reference) {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_RESOURCE_DESC& resource = reference.resource;
    if (resource.resType == CU_RESOURCE_TYPE_LINEAR) *out = resource.res.linear.devPtr;
    if (resource.resType == CU_RESOURCE_TYPE_PITCH2D) *out = resource.res.pitch2D.devPtr;
    return resource.resType < CU_RESOURCE_TYPE_LINEAR ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  });
}
SLUICE_API cuTexRefGetArray(CUarray* out, CUtexref handle) {
  return with(handle, [&](TextureReference& reference) {
    const CUDA_RESOURCE_DESC& resource = reference.resource;
    if (out == nullptr || resource.resType != CU_RESOURCE_TYPE_ARRAY || resource.res.array.hArray == nullptr)
      return CUDA_ERROR_INVALID_VALUE;
    *out = resource.res.array.hArray;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuTexRefGetMipmappedArray(CUmipmappedArray* out, CUtexref handle) {
  return with(handle, [&](TextureReference& reference) {
    if (out == nullptr || reference.resource.resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
      return CUDA_ERROR_INVALID_VALUE;
    *out = reference.resource.res.mipmap.hMipmappedArray;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuTexRefGetAddressMode(CUaddress_mode* out, CUtexref handle, int dimension) {
  return with(handle, [&](TextureReference& reference) {
    if (out == nullptr || dimension < 0 || dimension > 2) return CUDA_ERROR_INVALID_VALUE;
    *out = reference.sampling.addressMode[dimension];
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuTexRefGetFormat(CUarray_format* format, int* channels, CUtexref handle) {
  return with(handle, [&](TextureReference& reference) {
    if (format != nullptr) *format = reference.format;
    if (channels != nullptr) *channels = static_cast<int>(reference.channels);
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuTexRefGetFilterMode(CUfilter_mode* out, CUtexref handle) {
  return give(handle, out, &CUDA_TEXTURE_DESC::filterMode);
}
SLUICE_API cuTexRefGetMipmapFilterMode(CUfilter_mode* out, CUtexref handle) {
  return give(handle, out, &CUDA_TEXTURE_DESC::mipmapFilterMode);
}
SLUICE_API cuTexRefGetMipmapLevelBias(float* out, CUtexref handle) {
  return give(handle, out, &CUDA_TEXTURE_DESC::mipmapLevelBias);
}
SLUICE_API cuTexRefGetMipmapLevelClamp(float* least, float* most, CUtexref handle) {
  const CUresult result = give(handle, least, &CUDA_TEXTURE_DESC::minMipmapLevelClamp);
  return result == CUDA_SUCCESS ? give(handle, most, &CUDA_TEXTURE_DESC::maxMipmapLevelClamp) : result;
}
SLUICE_API cuTexRefGetMaxAnisotropy(int* out, CUtexref handle) {
  return with(handle, [&](TextureReference& reference) {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = static_cast<int>(reference.sampling.maxAnisotropy);
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuTexRefGetBorderColor(float* out, CUtexref handle) {
  return with(handle, [&](TextureReference& reference) {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::copy_n(reference.sampling.borderColor, 4, out);
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuTexRefGetFlags(unsigned* out, CUtexref handle) {
  return give(handle, out, &CUDA_TEXTURE_DESC::flags);
}

namespace sluice::softgpu {

std::span<const Entry> texture_reference_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuModuleGetTexRef", 2000, cuModuleGetTexRef),
      SLUICE_ENTRY("cuModuleGetSurfRef", 3000, cuModuleGetSurfRef),
      SLUICE_ENTRY("cuSurfRefSetArray", 3000, cuSurfRefSetArray),
      SLUICE_ENTRY("cuSurfRefGetArray", 3000, cuSurfRefGetArray),
      SLUICE_ENTRY("cuTexRefCreate", 2000, cuTexRefCreate),
      SLUICE_ENTRY("cuTexRefDestroy", 2000, cuTexRefDestroy),
      SLUICE_ENTRY("cuTexRefSetArray", 2000, cuTexRefSetArray),
      SLUICE_ENTRY("cuTexRefSetMipmappedArray", 5000, cuTexRefSetMipmappedArray),
      SLUICE_ENTRY("cuTexRefSetAddress", 3020, cuTexRefSetAddress_v2),
      SLUICE_ENTRY("cuTexRefSetAddress2D", 3020, cuTexRefSetAddress2D_v2),
      SLUICE_ENTRY("cuTexRefSetAddress2D", 4010, cuTexRefSetAddress2D_v3),
      SLUICE_ENTRY("cuTexRefSetFormat", 2000, cuTexRefSetFormat),
      SLUICE_ENTRY("cuTexRefSetAddressMode", 2000, cuTexRefSetAddressMode),
      SLUICE_ENTRY("cuTexRefSetFilterMode", 2000, cuTexRefSetFilterMode),
      SLUICE_ENTRY("cuTexRefSetMipmapFilterMode", 5000, cuTexRefSetMipmapFilterMode),
      SLUICE_ENTRY("cuTexRefSetMipmapLevelBias", 5000, cuTexRefSetMipmapLevelBias),
      SLUICE_ENTRY("cuTexRefSetMipmapLevelClamp", 5000, cuTexRefSetMipmapLevelClamp),
      SLUICE_ENTRY("cuTexRefSetMaxAnisotropy", 5000, cuTexRefSetMaxAnisotropy),
      SLUICE_ENTRY("cuTexRefSetBorderColor", 8000, cuTexRefSetBorderColor),
      SLUICE_ENTRY("cuTexRefSetFlags", 2000, cuTexRefSetFlags),
      SLUICE_ENTRY("cuTexRefGetAddress", 3020, cuTexRefGetAddress_v2),
      SLUICE_ENTRY("cuTexRefGetArray", 2000, cuTexRefGetArray),
      SLUICE_ENTRY("cuTexRefGetMipmappedArray", 5000, cuTexRefGetMipmappedArray),
      SLUICE_ENTRY("cuTexRefGetAddressMode", 2000, cuTexRefGetAddressMode),
      SLUICE_ENTRY("cuTexRefGetFilterMode", 2000, cuTexRefGetFilterMode),
      SLUICE_ENTRY("cuTexRefGetFormat", 2000, cuTexRefGetFormat),
      SLUICE_ENTRY("cuTexRefGetMipmapFilterMode", 5000, cuTexRefGetMipmapFilterMode),
      SLUICE_ENTRY("cuTexRefGetMipmapLevelBias", 5000, cuTexRefGetMipmapLevelBias),
      SLUICE_ENTRY("cuTexRefGetMipmapLevelClamp", 5000, cuTexRefGetMipmapLevelClamp),
      SLUICE_ENTRY("cuTexRefGetMaxAnisotropy", 5000, cuTexRefGetMaxAnisotropy),
      SLUICE_ENTRY("cuTexRefGetBorderColor", 8000, cuTexRefGetBorderColor),
      SLUICE_ENTRY("cuTexRefGetFlags", 2000, cuTexRefGetFlags),
  };
  return entries;
}

}  // namespace sluice::softgpu
