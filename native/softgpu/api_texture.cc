// Texture and surface objects.
#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/texture.h"

namespace sluice::softgpu {
namespace {

template <typename Object>
CUresult find(unsigned long long object, Object** out) {
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  *out = lookup<Object>(reinterpret_cast<const void*>(object));
  return *out == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// A description of the object, for whoever asks.
template <typename Object, typename Description>
CUresult answer(unsigned long long object, Description* out, const Description Object::*member) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Object* found;
  SLUICE_TRY(find(object, &found));
  *out = found->*member;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuTexObjectCreate(CUtexObject* out, const CUDA_RESOURCE_DESC* resource,
                             const CUDA_TEXTURE_DESC* sampling,
                             const CUDA_RESOURCE_VIEW_DESC* resource_view) {
  return api([&]() -> CUresult {
    if (out == nullptr || resource == nullptr || sampling == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* context;
    SLUICE_TRY(healthy_context(&context));
    sluice::ptx::TextureView view;
    SLUICE_TRY(describe_texture(*context, *resource, *sampling, resource_view, &view));
    auto created = std::make_unique<Texture>(*context, *resource, *sampling, resource_view, view);
    *out = created->object();
    TextureObjects& objects = texture_objects(*context);
    const std::lock_guard lock(objects.mutex);
    objects.textures[created.get()] = std::move(created);
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuTexObjectDestroy(CUtexObject object) {
  return api([&]() -> CUresult {
    Texture* texture;
    SLUICE_TRY(find(object, &texture));
    texture->context.synchronize();  // kernels that were launched before still read through it
    TextureObjects& objects = texture_objects(texture->context);
    const std::lock_guard lock(objects.mutex);
    objects.textures.erase(texture);
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* out, CUtexObject object) {
  return api([&] { return answer(object, out, &Texture::resource); });
}
SLUICE_API cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* out, CUtexObject object) {
  return api([&] { return answer(object, out, &Texture::sampling); });
}
SLUICE_API cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* out, CUtexObject object) {
  return api([&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Texture* texture;
    SLUICE_TRY(find(object, &texture));
    if (!texture->resource_view) return CUDA_ERROR_INVALID_VALUE;  // it was made without one
    *out = *texture->resource_view;
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuSurfObjectCreate(CUsurfObject* out, const CUDA_RESOURCE_DESC* resource) {
  return api([&]() -> CUresult {
    if (out == nullptr || resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* context;
    SLUICE_TRY(healthy_context(&context));
    sluice::ptx::TextureView view;
    SLUICE_TRY(describe_surface(*resource, &view));
    auto created = std::make_unique<Surface>(*context, *resource, view);
    *out = created->object();
    TextureObjects& objects = texture_objects(*context);
    const std::lock_guard lock(objects.mutex);
    objects.surfaces[created.get()] = std::move(created);
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuSurfObjectDestroy(CUsurfObject object) {
  return api([&]() -> CUresult {
    Surface* surface;
    SLUICE_TRY(find(object, &surface));
    surface->context.synchronize();
    TextureObjects& objects = texture_objects(surface->context);
    const std::lock_guard lock(objects.mutex);
    objects.surfaces.erase(surface);
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* out, CUsurfObject object) {
  return api([&] { return answer(object, out, &Surface::resource); });
}

namespace sluice::softgpu {

std::span<const Entry> texture_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuTexObjectCreate", 5000, cuTexObjectCreate),
      SLUICE_ENTRY("cuTexObjectDestroy", 5000, cuTexObjectDestroy),
      SLUICE_ENTRY("cuTexObjectGetResourceDesc", 5000, cuTexObjectGetResourceDesc),
      SLUICE_ENTRY("cuTexObjectGetTextureDesc", 5000, cuTexObjectGetTextureDesc),
      SLUICE_ENTRY("cuTexObjectGetResourceViewDesc", 5000, cuTexObjectGetResourceViewDesc),
      SLUICE_ENTRY("cuSurfObjectCreate", 5000, cuSurfObjectCreate),
      SLUICE_ENTRY("cuSurfObjectDestroy", 5000, cuSurfObjectDestroy),
      SLUICE_ENTRY("cuSurfObjectGetResourceDesc", 5000, cuSurfObjectGetResourceDesc),
  };
  return entries;
}

}  // namespace sluice::softgpu
