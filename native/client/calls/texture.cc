// Texture and surface objects. Their numbers are the driver's own, because kernels read them from parameters
// and from memory: creating one waits for its number. What it was made from is remembered here.
#include "client/scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

// The call is made on the server that has the resource.
CUresult adopt_owner(Scope& scope, Context* owner) {
  if (scope.context == nullptr || scope.context->channel != owner->channel) scope.context = owner;
  return scope.need_context();
}

// The resource, with the worker's names for arrays; the order in which the worker's calls/texture.cc reads
// it.
CUresult put_resource(Scope& scope, wire::Writer& arguments, const CUDA_RESOURCE_DESC& resource) {
  arguments.put(static_cast<int32_t>(resource.resType));
  arguments.put(uint32_t{resource.flags});
  CUdeviceptr address = 0;
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY: {
      Array* array = scope.session->arrays.find(resource.res.array.hArray);
      if (array == nullptr || !array->alive()) return CUDA_ERROR_INVALID_HANDLE;
      arguments.put(array->index);
      return adopt_owner(scope, array->context);
    }
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: {
      MipmappedArray* mipmap = scope.session->mipmapped_arrays.find(resource.res.mipmap.hMipmappedArray);
      if (mipmap == nullptr || !mipmap->alive()) return CUDA_ERROR_INVALID_HANDLE;
      arguments.put(mipmap->index);
      return adopt_owner(scope, mipmap->context);
    }
    case CU_RESOURCE_TYPE_LINEAR: {
      const auto& linear = resource.res.linear;
      address = linear.devPtr;
      arguments.put(uint64_t{address});
      arguments.put(static_cast<int32_t>(linear.format));
      arguments.put(uint32_t{linear.numChannels});
      arguments.put(uint64_t{linear.sizeInBytes});
      break;
    }
    case CU_RESOURCE_TYPE_PITCH2D: {
      const auto& pitched = resource.res.pitch2D;
      address = pitched.devPtr;
      arguments.put(uint64_t{address});
      arguments.put(static_cast<int32_t>(pitched.format));
      arguments.put(uint32_t{pitched.numChannels});
      for (const uint64_t word : {pitched.width, pitched.height, pitched.pitchInBytes}) arguments.put(word);
      break;
    }
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  const auto range = scope.session->memory.device_range(address);
  return range ? adopt_owner(scope, range->context) : CUDA_ERROR_INVALID_VALUE;
}

CUresult create(Scope& scope, wire::DynamicFrame& frame, TextureObjects Session::*table,
                const TextureObject& description, unsigned long long* out) {
  frame.complete();
  wire::FixedReply<8> reply;
  if (CUresult error = scope.call(frame, reply)) return error;
  const auto object = reply.get<uint64_t>();
  if (!reply.complete()) return CUDA_ERROR_UNKNOWN;
  TextureObject known = description;
  known.context = scope.context;
  known.epoch = scope.context->epoch.load(std::memory_order_acquire);
  (scope.session->*table).add(object, known);
  *out = object;
  return CUDA_SUCCESS;
}

// Some object of a context that lives, and the scope of a call about it.
CUresult find(Scope& scope, TextureObjects Session::*table, unsigned long long object, TextureObject* out) {
  if (CUresult error = scope.enter()) return error;
  const Channel* here = scope.context ? scope.context->channel : nullptr;
  const auto found = (scope.session->*table).find(here, object);
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  *out = *found;
  scope.context = found->context;
  return scope.need_context();
}

CUresult destroy(CallId call, TextureObjects Session::*table, unsigned long long object) {
  Scope scope;
  TextureObject known;
  if (CUresult error = find(scope, table, object, &known)) return error;
  wire::AsyncFrame<8> frame(call);
  frame.put(uint64_t{object});
  if (CUresult error = scope.post(frame)) return error;
  (scope.session->*table).remove(scope.channel, object);
  return CUDA_SUCCESS;
}

template <typename Description>
CUresult answer(TextureObjects Session::*table, unsigned long long object, Description* out,
                Description TextureObject::*member) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  TextureObject known;
  if (CUresult error = find(scope, table, object, &known)) return error;
  *out = known.*member;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuTexObjectCreate(CUtexObject* pTexObject, const CUDA_RESOURCE_DESC* pResDesc,
                           const CUDA_TEXTURE_DESC* pTexDesc, const CUDA_RESOURCE_VIEW_DESC* pResViewDesc) {
  if (pTexObject == nullptr || pResDesc == nullptr || pTexDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.need_context()) return error;
  TextureObject description;
  description.resource = *pResDesc;
  description.sampling = *pTexDesc;
  wire::DynamicFrame frame(CallId::cuTexObjectCreate, wire::kSync);
  if (CUresult error = put_resource(scope, frame.arguments(), *pResDesc)) return error;
  frame.arguments().bytes(pTexDesc, sizeof *pTexDesc);
  frame.arguments().put(static_cast<uint8_t>(pResViewDesc != nullptr));
  if (pResViewDesc != nullptr) {
    description.view = *pResViewDesc;
    frame.arguments().bytes(pResViewDesc, sizeof *pResViewDesc);
  }
  return create(scope, frame, &Session::textures, description, pTexObject);
}

CUresult cuTexObjectDestroy(CUtexObject texObject) {
  return destroy(CallId::cuTexObjectDestroy, &Session::textures, texObject);
}
CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* pResDesc, CUtexObject texObject) {
  return answer(&Session::textures, texObject, pResDesc, &TextureObject::resource);
}
CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* pTexDesc, CUtexObject texObject) {
  return answer(&Session::textures, texObject, pTexDesc, &TextureObject::sampling);
}
CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* pResViewDesc, CUtexObject texObject) {
  if (pResViewDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  TextureObject known;
  if (CUresult error = find(scope, &Session::textures, texObject, &known)) return error;
  if (!known.view) return CUDA_ERROR_INVALID_VALUE;
  *pResViewDesc = *known.view;
  return CUDA_SUCCESS;
}

CUresult cuSurfObjectCreate(CUsurfObject* pSurfObject, const CUDA_RESOURCE_DESC* pResDesc) {
  if (pSurfObject == nullptr || pResDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.need_context()) return error;
  TextureObject description;
  description.resource = *pResDesc;
  wire::DynamicFrame frame(CallId::cuSurfObjectCreate, wire::kSync);
  if (CUresult error = put_resource(scope, frame.arguments(), *pResDesc)) return error;
  return create(scope, frame, &Session::surfaces, description, pSurfObject);
}
CUresult cuSurfObjectDestroy(CUsurfObject surfObject) {
  return destroy(CallId::cuSurfObjectDestroy, &Session::surfaces, surfObject);
}
CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* pResDesc, CUsurfObject surfObject) {
  return answer(&Session::surfaces, surfObject, pResDesc, &TextureObject::resource);
}

}  // namespace sluice::client::calls
