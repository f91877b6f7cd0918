// Arrays and mipmapped arrays. Creating one waits, because whether there is memory for it is the answer;
// what they look like, their levels and their end wait for nothing.
#include <algorithm>

#include "client/scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

// The context is that of the object, whichever is current.
template <typename Object>
CUresult enter_with(Scope& scope, HandleTable<Object>& (*table)(Session&), const void* handle, Object** out) {
  if (CUresult error = scope.enter()) return error;
  *out = table(*scope.session).find(handle);
  if (*out == nullptr || !(*out)->alive()) return CUDA_ERROR_INVALID_HANDLE;
  scope.context = (*out)->context;
  return scope.need_context();
}
HandleTable<Array>& arrays_of(Session& session) { return session.arrays; }
HandleTable<MipmappedArray>& mipmaps_of(Session& session) { return session.mipmapped_arrays; }

void put_descriptor(wire::Writer& arguments, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  for (const uint64_t extent : {descriptor.Width, descriptor.Height, descriptor.Depth}) arguments.put(extent);
  arguments.put(static_cast<int32_t>(descriptor.Format));
  arguments.put(uint32_t{descriptor.NumChannels});
  arguments.put(uint32_t{descriptor.Flags});
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
CUresult create(CUarray* out, const Descriptor* given) {
  if (out == nullptr || given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.need_context()) return error;
  Array* array = nullptr;
  if (scope.session->arrays.mint(&array) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  array->belong_to(scope.context);
  array->describe(widened(*given));
  wire::DynamicFrame frame(CallId::cuArray3DCreate_v2, wire::kSync);
  frame.arguments().put(array->index);
  put_descriptor(frame.arguments(), array->descriptor);
  frame.complete();
  if (CUresult error = scope.call(frame)) {
    scope.session->arrays.release(array);
    return error;
  }
  *out = static_cast<CUarray>(array->handle);
  return CUDA_SUCCESS;
}

template <typename Descriptor>
CUresult describe(Descriptor* out, CUarray handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Array* array = nullptr;
  if (CUresult error = enter_with(scope, arrays_of, handle, &array)) return error;
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

void release_parts(Session& session, std::map<unsigned, CUarray>& parts) {
  for (const auto& [number, handle] : parts) {
    if (Array* part = session.arrays.find(handle)) session.arrays.release(part);
  }
  parts.clear();
}

// A handle for a level or a plane, which lives as long as what it belongs to.
Array* mint_part(Scope& scope, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  Array* part = nullptr;
  if (scope.session->arrays.mint(&part) == nullptr) return nullptr;
  part->belong_to(scope.context);
  part->describe(descriptor);
  part->is_part = true;
  return part;
}

template <typename Properties, typename Frame>
CUresult ask(Scope& scope, Frame& frame, Properties* out) {
  Properties answer{};
  Reply reply{&answer, sizeof answer};
  if (CUresult error = scope.call_raw(frame.data(), frame.size(), &reply)) return error;
  if (reply.received != sizeof answer) return CUDA_ERROR_UNKNOWN;
  *out = answer;
  return CUDA_SUCCESS;
}

template <typename Object>
CUresult sparse_properties(CallId call, CUDA_ARRAY_SPARSE_PROPERTIES* out,
                           HandleTable<Object>& (*table)(Session&), const void* handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Object* object = nullptr;
  if (CUresult error = enter_with(scope, table, handle, &object)) return error;
  wire::SyncFrame<4> frame(call);
  frame.put(object->index);
  return ask(scope, frame, out);
}

template <typename Object>
CUresult memory_requirements(CallId call, CUDA_ARRAY_MEMORY_REQUIREMENTS* out,
                             HandleTable<Object>& (*table)(Session&), const void* handle, CUdevice ordinal) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Object* object = nullptr;
  if (CUresult error = enter_with(scope, table, handle, &object)) return error;
  const Device* device = scope.session->device(ordinal);
  if (device == nullptr || device->channel != scope.channel) return CUDA_ERROR_INVALID_DEVICE;
  wire::SyncFrame<8> frame(call);
  frame.put(object->index);
  frame.put(int32_t{device->ordinal_there});
  return ask(scope, frame, out);
}

}  // namespace

CUresult cuArrayCreate(CUarray* pHandle, const CUDA_ARRAY_DESCRIPTOR_v1* pAllocateArray) {
  return create(pHandle, pAllocateArray);
}
CUresult cuArrayCreate_v2(CUarray* pHandle, const CUDA_ARRAY_DESCRIPTOR* pAllocateArray) {
  return create(pHandle, pAllocateArray);
}
CUresult cuArray3DCreate(CUarray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR_v1* pAllocateArray) {
  return create(pHandle, pAllocateArray);
}
CUresult cuArray3DCreate_v2(CUarray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pAllocateArray) {
  return create(pHandle, pAllocateArray);
}

CUresult cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR_v1* pArrayDescriptor, CUarray hArray) {
  return describe(pArrayDescriptor, hArray);
}
CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* pArrayDescriptor, CUarray hArray) {
  return describe(pArrayDescriptor, hArray);
}
CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR_v1* pArrayDescriptor, CUarray hArray) {
  return describe(pArrayDescriptor, hArray);
}
CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* pArrayDescriptor, CUarray hArray) {
  return describe(pArrayDescriptor, hArray);
}

CUresult cuArrayDestroy(CUarray hArray) {
  Scope scope;
  Array* array = nullptr;
  if (CUresult error = enter_with(scope, arrays_of, hArray, &array)) return error;
  if (array->is_part) return CUDA_ERROR_INVALID_HANDLE;
  wire::AsyncFrame<4> frame(CallId::cuArrayDestroy);
  frame.put(array->index);
  if (CUresult error = scope.post(frame)) return error;
  {
    const std::lock_guard lock(array->mutex);
    release_parts(*scope.session, array->planes);
  }
  scope.session->arrays.release(array);
  return CUDA_SUCCESS;
}

// How a plane looks follows from the format; one that a driver does not have is known from its error.
CUresult cuArrayGetPlane(CUarray* pPlaneArray, CUarray hArray, unsigned int planeIdx) {
  if (pPlaneArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Array* array = nullptr;
  if (CUresult error = enter_with(scope, arrays_of, hArray, &array)) return error;
  const auto layouts = planes_of(array->descriptor.Format);
  if (planeIdx >= layouts.size()) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(array->mutex);
  const auto known = array->planes.find(planeIdx);
  if (known != array->planes.end()) {
    *pPlaneArray = known->second;
    return CUDA_SUCCESS;
  }
  Array* plane = mint_part(scope, plane_descriptor(array->descriptor, layouts[planeIdx]));
  if (plane == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  wire::AsyncFrame<12> frame(CallId::cuArrayGetPlane);
  frame.put(plane->index);
  frame.put(array->index);
  frame.put(uint32_t{planeIdx});
  if (CUresult error = scope.post(frame)) {
    scope.session->arrays.release(plane);
    return error;
  }
  *pPlaneArray = static_cast<CUarray>(plane->handle);
  array->planes.emplace(planeIdx, *pPlaneArray);
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pMipmappedArrayDesc,
                                unsigned int numMipmapLevels) {
  if (pHandle == nullptr || pMipmappedArrayDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.need_context()) return error;
  MipmappedArray* mipmap = nullptr;
  if (scope.session->mipmapped_arrays.mint(&mipmap) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  mipmap->belong_to(scope.context);
  mipmap->descriptor = *pMipmappedArrayDesc;
  mipmap->level_count = std::clamp(numMipmapLevels, 1u, most_levels(*pMipmappedArrayDesc));
  wire::DynamicFrame frame(CallId::cuMipmappedArrayCreate, wire::kSync);
  frame.arguments().put(mipmap->index);
  put_descriptor(frame.arguments(), mipmap->descriptor);
  frame.arguments().put(uint32_t{mipmap->level_count});
  frame.complete();
  if (CUresult error = scope.call(frame)) {
    scope.session->mipmapped_arrays.release(mipmap);
    return error;
  }
  *pHandle = static_cast<CUmipmappedArray>(mipmap->handle);
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetLevel(CUarray* pLevelArray, CUmipmappedArray hMipmappedArray,
                                  unsigned int level) {
  if (pLevelArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  MipmappedArray* mipmap = nullptr;
  if (CUresult error = enter_with(scope, mipmaps_of, hMipmappedArray, &mipmap)) return error;
  if (level >= mipmap->level_count) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mipmap->mutex);
  const auto known = mipmap->levels.find(level);
  if (known != mipmap->levels.end()) {
    *pLevelArray = known->second;
    return CUDA_SUCCESS;
  }
  Array* array = mint_part(scope, level_descriptor(mipmap->descriptor, level));
  if (array == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  wire::AsyncFrame<12> frame(CallId::cuMipmappedArrayGetLevel);
  frame.put(array->index);
  frame.put(mipmap->index);
  frame.put(uint32_t{level});
  if (CUresult error = scope.post(frame)) {
    scope.session->arrays.release(array);
    return error;
  }
  *pLevelArray = static_cast<CUarray>(array->handle);
  mipmap->levels.emplace(level, *pLevelArray);
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray) {
  Scope scope;
  MipmappedArray* mipmap = nullptr;
  if (CUresult error = enter_with(scope, mipmaps_of, hMipmappedArray, &mipmap)) return error;
  wire::AsyncFrame<4> frame(CallId::cuMipmappedArrayDestroy);
  frame.put(mipmap->index);
  if (CUresult error = scope.post(frame)) return error;
  {
    const std::lock_guard lock(mipmap->mutex);
    release_parts(*scope.session, mipmap->levels);
  }
  scope.session->mipmapped_arrays.release(mipmap);
  return CUDA_SUCCESS;
}

CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* sparseProperties, CUarray array) {
  return sparse_properties(CallId::cuArrayGetSparseProperties, sparseProperties, arrays_of, array);
}
CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* sparseProperties,
                                             CUmipmappedArray mipmap) {
  return sparse_properties(CallId::cuMipmappedArrayGetSparseProperties, sparseProperties, mipmaps_of, mipmap);
}
CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* memoryRequirements, CUarray array,
                                      CUdevice device) {
  return memory_requirements(CallId::cuArrayGetMemoryRequirements, memoryRequirements, arrays_of, array,
                             device);
}
CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* memoryRequirements,
                                               CUmipmappedArray mipmap, CUdevice device) {
  return memory_requirements(CallId::cuMipmappedArrayGetMemoryRequirements, memoryRequirements, mipmaps_of,
                             mipmap, device);
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* maxWidthInElements, CUarray_format format,
                                            unsigned int numChannels, CUdevice dev) {
  if (maxWidthInElements == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  const Device* device = scope.session->device(dev);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  scope.channel = device->channel;
  wire::SyncFrame<12> frame(CallId::cuDeviceGetTexture1DLinearMaxWidth);
  frame.put(static_cast<int32_t>(format));
  frame.put(uint32_t{numChannels});
  frame.put(int32_t{device->ordinal_there});
  wire::FixedReply<8> reply;
  // No context is named: the question is about the device.
  Reply answer{reply.data(), reply.capacity()};
  if (CUresult error = scope.channel->call(0, frame.data(), frame.size(), &answer)) return error;
  reply.received(answer.received);
  *maxWidthInElements = reply.get<uint64_t>();
  return reply.complete() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

}  // namespace sluice::client::calls
