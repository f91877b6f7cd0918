// What the client knows about arrays, textures and surfaces.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "client/objects.h"
#include "common/array_format.h"

namespace sluice::client {

struct Array : InContext {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  ElementLayout element;  // bytes 0 for video formats of several planes
  ArrayExtent extent;
  bool is_part = false;  // a level or a plane: goes with what it belongs to
  std::mutex mutex;
  std::map<unsigned, CUarray> planes;

  void describe(const CUDA_ARRAY3D_DESCRIPTOR& given) {
    descriptor = given;
    element = element_layout(given.Format, given.NumChannels).value_or(ElementLayout{});
    extent = array_extent(given, element);
  }
};

struct MipmappedArray : InContext {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  unsigned level_count = 0;
  std::mutex mutex;
  std::map<unsigned, CUarray> levels;
};

// A reference of a module, or one that the program has made. The driver keeps what it is set to; only handles
// that it was given are translated here.
struct TextureReference : InContext {
  std::mutex mutex;
  CUarray array = nullptr;
  CUmipmappedArray mipmap = nullptr;
};
struct SurfaceReference : InContext {
  std::mutex mutex;
  CUarray array = nullptr;
};

// A texture or surface object. Its number is the driver's own: kernels read it from their parameters and from
// memory, where nobody could translate it.
struct TextureObject {
  Context* context = nullptr;
  uint32_t epoch = 0;
  CUDA_RESOURCE_DESC resource{};
  CUDA_TEXTURE_DESC sampling{};
  std::optional<CUDA_RESOURCE_VIEW_DESC> view;
};

// By the server that has the object, since drivers choose numbers without knowing of each other.
class TextureObjects {
 public:
  void add(unsigned long long object, const TextureObject& entry) {
    const std::lock_guard lock(mutex_);
    objects_[{entry.context->channel, object}] = entry;
  }
  // The living object; that of `channel` first.
  std::optional<TextureObject> find(const Channel* channel, unsigned long long object) const {
    const std::lock_guard lock(mutex_);
    auto at = objects_.find({channel, object});
    for (auto any = objects_.begin(); at == objects_.end() && any != objects_.end(); ++any) {
      if (any->first.second == object) at = any;
    }
    if (at == objects_.end()) return std::nullopt;
    const TextureObject& entry = at->second;
    if (entry.context->epoch.load(std::memory_order_acquire) != entry.epoch) return std::nullopt;
    return entry;
  }
  void remove(const Channel* channel, unsigned long long object) {
    const std::lock_guard lock(mutex_);
    objects_.erase({channel, object});
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<const Channel*, unsigned long long>, TextureObject> objects_;
};

}  // namespace sluice::client
