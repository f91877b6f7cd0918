// Texture and surface references: what is not a plain question to the driver.
#include "client/scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client {
namespace {

// The call is made in the object's context.
template <typename Object>
CUresult resolve_in(Scope& scope, HandleTable<Object>& table, const void* handle, uint32_t* index) {
  Object* object = table.find(handle);
  if (object == nullptr || !object->alive()) return CUDA_ERROR_INVALID_HANDLE;
  if (scope.context == nullptr || scope.context->channel != object->context->channel)
    scope.context = object->context;
  *index = object->index;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult Scope::resolve(CUarray handle, uint32_t* index) {
  return resolve_in(*this, session->arrays, handle, index);
}
CUresult Scope::resolve(CUmipmappedArray handle, uint32_t* index) {
  return resolve_in(*this, session->mipmapped_arrays, handle, index);
}
CUresult Scope::resolve(CUtexref handle, uint32_t* index) {
  return resolve_in(*this, session->texture_references, handle, index);
}
CUresult Scope::resolve(CUsurfref handle, uint32_t* index) {
  return resolve_in(*this, session->surface_references, handle, index);
}

CUtexref Scope::mint_texref(uint32_t* index) {
  TextureReference* reference = nullptr;
  void* handle = session->texture_references.mint(&reference);
  if (handle == nullptr) return nullptr;
  reference->belong_to(context);
  *index = reference->index;
  return static_cast<CUtexref>(handle);
}

void Scope::release(CUtexref handle) {
  if (TextureReference* reference = session->texture_references.find(handle))
    session->texture_references.release(reference);
}

namespace calls {

using generated::CallId;

namespace {

// A handle for the module's reference of that name.
template <typename Reference, typename Handle>
CUresult get_of_module(CallId call, HandleTable<Reference> Session::*table, Handle* out, CUmodule module,
                       const char* name) {
  if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  uint32_t module_index = 0;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.resolve(module, &module_index)) return error;
  if (CUresult error = scope.need_context()) return error;
  Reference* reference = nullptr;
  if ((scope.session->*table).mint(&reference) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  reference->belong_to(scope.context);
  wire::DynamicFrame frame(call, wire::kSync);
  frame.arguments().put(reference->index);
  frame.arguments().put(module_index);
  frame.arguments().text(name);
  frame.complete();
  if (CUresult error = scope.call(frame)) {
    (scope.session->*table).release(reference);
    return error;
  }
  *out = static_cast<Handle>(reference->handle);
  return CUDA_SUCCESS;
}

template <typename Reference, typename Array>
CUresult set_array(CallId call, HandleTable<Reference> Session::*table, const void* handle, Array array,
                   unsigned flags, Array Reference::*member) {
  Scope scope;
  uint32_t array_index = 0;
  if (CUresult error = scope.enter()) return error;
  Reference* reference = (scope.session->*table).find(handle);
  if (reference == nullptr || !reference->alive()) return CUDA_ERROR_INVALID_HANDLE;
  if (CUresult error = scope.resolve(array, &array_index)) return error;
  if (CUresult error = scope.need_context()) return error;
  wire::SyncFrame<12> frame(call);
  frame.put(reference->index);
  frame.put(array_index);
  frame.put(uint32_t{flags});
  if (CUresult error = scope.call(frame)) return error;
  const std::lock_guard lock(reference->mutex);
  if constexpr (requires { reference->mipmap; }) {
    reference->array = nullptr;
    reference->mipmap = nullptr;
  }
  reference->*member = array;
  return CUDA_SUCCESS;
}

template <typename Reference, typename Array>
CUresult get_array(HandleTable<Reference> Session::*table, const void* handle, Array* out,
                   Array Reference::*member) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  Reference* reference = (scope.session->*table).find(handle);
  if (reference == nullptr || !reference->alive()) return CUDA_ERROR_INVALID_HANDLE;
  const std::lock_guard lock(reference->mutex);
  if (reference->*member == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = reference->*member;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuModuleGetTexRef(CUtexref* pTexRef, CUmodule hmod, const char* name) {
  return get_of_module(CallId::cuModuleGetTexRef, &Session::texture_references, pTexRef, hmod, name);
}
CUresult cuModuleGetSurfRef(CUsurfref* pSurfRef, CUmodule hmod, const char* name) {
  return get_of_module(CallId::cuModuleGetSurfRef, &Session::surface_references, pSurfRef, hmod, name);
}

CUresult cuTexRefSetArray(CUtexref hTexRef, CUarray hArray, unsigned int Flags) {
  return set_array(CallId::cuTexRefSetArray, &Session::texture_references, hTexRef, hArray, Flags,
                   &TextureReference::array);
}
CUresult cuTexRefSetMipmappedArray(CUtexref hTexRef, CUmipmappedArray hMipmappedArray, unsigned int Flags) {
  return set_array(CallId::cuTexRefSetMipmappedArray, &Session::texture_references, hTexRef, hMipmappedArray,
                   Flags, &TextureReference::mipmap);
}
CUresult cuSurfRefSetArray(CUsurfref hSurfRef, CUarray hArray, unsigned int Flags) {
  return set_array(CallId::cuSurfRefSetArray, &Session::surface_references, hSurfRef, hArray, Flags,
                   &SurfaceReference::array);
}
CUresult cuTexRefGetArray(CUarray* phArray, CUtexref hTexRef) {
  return get_array(&Session::texture_references, hTexRef, phArray, &TextureReference::array);
}
CUresult cuTexRefGetMipmappedArray(CUmipmappedArray* phMipmappedArray, CUtexref hTexRef) {
  return get_array(&Session::texture_references, hTexRef, phMipmappedArray, &TextureReference::mipmap);
}
CUresult cuSurfRefGetArray(CUarray* phArray, CUsurfref hSurfRef) {
  return get_array(&Session::surface_references, hSurfRef, phArray, &SurfaceReference::array);
}

CUresult cuTexRefSetAddress_v2(size_t* ByteOffset, CUtexref hTexRef, CUdeviceptr dptr, size_t bytes) {
  Scope scope;
  uint32_t index = 0;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.resolve(hTexRef, &index)) return error;
  if (CUresult error = scope.need_context()) return error;
  wire::SyncFrame<20> frame(CallId::cuTexRefSetAddress_v2);
  frame.put(index);
  frame.put(uint64_t{dptr});
  frame.put(uint64_t{bytes});
  wire::FixedReply<8> reply;
  if (CUresult error = scope.call(frame, reply)) return error;
  const size_t offset = reply.get<uint64_t>();
  if (!reply.complete()) return CUDA_ERROR_UNKNOWN;
  if (ByteOffset != nullptr) *ByteOffset = offset;
  return ByteOffset == nullptr && offset != 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuTexRefSetAddress(unsigned int* ByteOffset, CUtexref hTexRef, CUdeviceptr_v1 dptr,
                            unsigned int bytes) {
  size_t offset = 0;
  if (CUresult error = cuTexRefSetAddress_v2(&offset, hTexRef, dptr, bytes)) return error;
  if (ByteOffset != nullptr) *ByteOffset = static_cast<unsigned>(offset);
  return CUDA_SUCCESS;
}

CUresult cuTexRefSetAddress2D_v3(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR* desc, CUdeviceptr dptr,
                                 size_t Pitch) {
  if (desc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  uint32_t index = 0;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.resolve(hTexRef, &index)) return error;
  if (CUresult error = scope.need_context()) return error;
  wire::SyncFrame<44> frame(CallId::cuTexRefSetAddress2D_v3);
  frame.put(index);
  frame.put(uint64_t{desc->Width});
  frame.put(uint64_t{desc->Height});
  frame.put(static_cast<int32_t>(desc->Format));
  frame.put(uint32_t{desc->NumChannels});
  frame.put(uint64_t{dptr});
  frame.put(uint64_t{Pitch});
  return scope.call(frame);
}

CUresult cuTexRefSetAddress2D(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR_v1* desc, CUdeviceptr_v1 dptr,
                              unsigned int Pitch) {
  if (desc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY_DESCRIPTOR wide{desc->Width, desc->Height, desc->Format, desc->NumChannels};
  return cuTexRefSetAddress2D_v3(hTexRef, &wide, dptr, Pitch);
}

// Addresses of today do not fit into the old form's 32 bits.
CUresult cuTexRefGetAddress(CUdeviceptr_v1* pdptr, CUtexref hTexRef) {
  if (pdptr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUdeviceptr address = 0;
  if (CUresult error = cuTexRefGetAddress_v2(&address, hTexRef)) return error;
  if (address > UINT32_MAX) return CUDA_ERROR_INVALID_VALUE;
  *pdptr = static_cast<CUdeviceptr_v1>(address);
  return CUDA_SUCCESS;
}

CUresult cuTexRefSetBorderColor(CUtexref hTexRef, float* pBorderColor) {
  if (pBorderColor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  uint32_t index = 0;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.resolve(hTexRef, &index)) return error;
  if (CUresult error = scope.need_context()) return error;
  wire::SyncFrame<20> frame(CallId::cuTexRefSetBorderColor);
  frame.put(index);
  for (int i = 0; i < 4; i++) frame.put(pBorderColor[i]);
  return scope.call(frame);
}

CUresult cuTexRefGetBorderColor(float* pBorderColor, CUtexref hTexRef) {
  if (pBorderColor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  uint32_t index = 0;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.resolve(hTexRef, &index)) return error;
  if (CUresult error = scope.need_context()) return error;
  wire::SyncFrame<4> frame(CallId::cuTexRefGetBorderColor);
  frame.put(index);
  wire::FixedReply<16> reply;
  if (CUresult error = scope.call(frame, reply)) return error;
  for (int i = 0; i < 4; i++) pBorderColor[i] = reply.get<float>();
  return reply.complete() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

}  // namespace calls
}  // namespace sluice::client
