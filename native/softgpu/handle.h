// Handles that callers get for contexts, streams, events and the rest. A handle is the address of a slot in a
// reserved region, so that any value a caller passes can be checked without a lock and without touching
// memory that is not ours.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::softgpu {

enum class HandleKind : uint64_t {
  kFree = 0,
  kContext,
  kStream,
  kEvent,
  kModule,
  kFunction,
  kLibrary,
  kKernel,
  kPool,
  kLink,
  kGraph,
  kGraphNode,
  kGraphExec,
  kUserObject,
  kArray,
  kMipmap,
  kTexture,
  kSurface,
  kTextureReference,
  kSurfaceReference,
  kPhysicalMemory,
  kGreenContext,
};

// Makes a handle for the object. Throws std::bad_alloc when four million handles are alive.
void* create_handle(HandleKind kind, void* object);
// The handle is invalid afterwards; its address is not given out again for a while.
void destroy_handle(void* handle);
// The object, or null when the value is not a live handle of that kind.
void* handle_object(HandleKind kind, const void* handle);

// T::kKind says which handles mean a T.
template <typename T>
T* lookup(const void* handle) {
  return static_cast<T*>(handle_object(T::kKind, handle));
}

}  // namespace sluice::softgpu
