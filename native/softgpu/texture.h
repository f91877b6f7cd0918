// Texture and surface objects, and the references of modules that came before them.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "common/cuda_types.h"
#include "softgpu/handle.h"
#include "softgpu/ptx/texture.h"

namespace sluice::softgpu {

class Context;

// An object keeps what it was made from, for the program to ask, and the view that kernels read through.
class Texture {
 public:
  static constexpr HandleKind kKind = HandleKind::kTexture;

  Texture(Context& owner, const CUDA_RESOURCE_DESC& from, const CUDA_TEXTURE_DESC& how,
          const CUDA_RESOURCE_VIEW_DESC* seen_as, const ptx::TextureView& described);
  ~Texture() { destroy_handle(handle_); }
  Texture(const Texture&) = delete;
  Texture& operator=(const Texture&) = delete;

  // What kernels are given: it can be checked without trusting it.
  CUtexObject object() const { return reinterpret_cast<CUtexObject>(handle_); }

  Context& context;
  const CUDA_RESOURCE_DESC resource;
  const CUDA_TEXTURE_DESC sampling;
  const std::optional<CUDA_RESOURCE_VIEW_DESC> resource_view;
  const ptx::TextureView view;

 private:
  void* handle_;
};

class Surface {
 public:
  static constexpr HandleKind kKind = HandleKind::kSurface;

  Surface(Context& owner, const CUDA_RESOURCE_DESC& from, const ptx::TextureView& described);
  ~Surface() { destroy_handle(handle_); }
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;

  CUsurfObject object() const { return reinterpret_cast<CUsurfObject>(handle_); }

  Context& context;
  const CUDA_RESOURCE_DESC resource;
  const ptx::TextureView view;

 private:
  void* handle_;
};

// What a program sets up piece by piece.
class TextureReference {
 public:
  static constexpr HandleKind kKind = HandleKind::kTextureReference;

  explicit TextureReference(Context& owner) : context(owner), handle_(create_handle(kKind, this)) {
    sampling.maxAnisotropy = 1;
  }
  ~TextureReference() { destroy_handle(handle_); }
  TextureReference(const TextureReference&) = delete;
  TextureReference& operator=(const TextureReference&) = delete;

  CUtexref handle() const { return static_cast<CUtexref>(handle_); }

  Context& context;
  CUDA_RESOURCE_DESC resource{};
  CUDA_TEXTURE_DESC sampling{};
  CUarray_format format = CU_AD_FORMAT_UNSIGNED_INT8;
  unsigned channels = 1;

 private:
  void* handle_;
};

// The objects that a context owns; they die with it.
struct TextureObjects {
  std::mutex mutex;
  std::unordered_map<Texture*, std::unique_ptr<Texture>> textures;
  std::unordered_map<Surface*, std::unique_ptr<Surface>> surfaces;
  std::unordered_map<TextureReference*, std::unique_ptr<TextureReference>> references;
};
TextureObjects& texture_objects(Context& context);

// What the descriptors say, checked against the manual's rules and the device's limits.
CUresult describe_texture(const Context& context, const CUDA_RESOURCE_DESC& resource,
                          const CUDA_TEXTURE_DESC& sampling, const CUDA_RESOURCE_VIEW_DESC* resource_view,
                          ptx::TextureView* out);
// Surfaces are of arrays that were made for them (CUDA_ARRAY3D_SURFACE_LDST).
CUresult describe_surface(const CUDA_RESOURCE_DESC& resource, ptx::TextureView* out);

// For engines: the objects of all contexts, each known by its number.
const ptx::Textures& all_textures();

}  // namespace sluice::softgpu
