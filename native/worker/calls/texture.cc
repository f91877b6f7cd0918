// Texture and surface objects. The client learns the driver's number; a number that comes from it is only
// used when the object was made here.
#include "worker/calls/session.h"

namespace sluice::worker::calls {
namespace {

// Objects of one session at once: each takes memory of the driver beside what is counted.
constexpr size_t kMostObjects = size_t{1} << 20;

enum class Read { good, broken, no_handle };

// put_resource in the client's calls/texture.cc.
Read read_resource(Session& session, wire::Reader& args, CUDA_RESOURCE_DESC* out) {
  out->resType = static_cast<CUresourcetype>(args.get<int32_t>());
  out->flags = args.get<uint32_t>();
  switch (out->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      if (!session.find(args.get<uint32_t>(), &out->res.array.hArray)) return Read::no_handle;
      return Read::good;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      if (!session.find(args.get<uint32_t>(), &out->res.mipmap.hMipmappedArray)) return Read::no_handle;
      return Read::good;
    case CU_RESOURCE_TYPE_LINEAR: {
      auto& linear = out->res.linear;
      linear.devPtr = args.get<uint64_t>();
      linear.format = static_cast<CUarray_format>(args.get<int32_t>());
      linear.numChannels = args.get<uint32_t>();
      linear.sizeInBytes = args.get<uint64_t>();
      return Read::good;
    }
    case CU_RESOURCE_TYPE_PITCH2D: {
      auto& pitched = out->res.pitch2D;
      pitched.devPtr = args.get<uint64_t>();
      pitched.format = static_cast<CUarray_format>(args.get<int32_t>());
      pitched.numChannels = args.get<uint32_t>();
      for (size_t* word : {&pitched.width, &pitched.height, &pitched.pitchInBytes})
        *word = args.get<uint64_t>();
      return Read::good;
    }
  }
  return Read::broken;
}

template <typename Struct>
bool read_struct(wire::Reader& args, Struct* out) {
  const uint8_t* bytes = args.bytes(sizeof *out);
  if (bytes != nullptr) std::memcpy(out, bytes, sizeof *out);
  return bytes != nullptr;
}

void answer(Session& session, Request& request, CUresult result, uint64_t object,
            std::map<uint64_t, uint32_t>& objects) {
  wire::Writer out;
  if (result == CUDA_SUCCESS) {
    objects[object] = session.current_context();
    out.put(object);
  }
  session.finish(request, result, out);
}

// The object's work is waited for by the driver.
void destroy(Session& session, Request& request, std::map<uint64_t, uint32_t>& objects,
             CUresult (*body)(unsigned long long)) {
  const auto object = request.args.get<uint64_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  if (objects.erase(object) == 0) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  session.settle_host_tasks();
  session.finish(request, body(object));
}

}  // namespace

void cuTexObjectCreate(Session& session, Request& request) {
  wire::Reader& args = request.args;
  CUDA_RESOURCE_DESC resource{};
  CUDA_TEXTURE_DESC sampling{};
  CUDA_RESOURCE_VIEW_DESC view{};
  const Read read = read_resource(session, args, &resource);
  read_struct(args, &sampling);
  const bool has_view = args.get<uint8_t>() != 0;
  if (has_view) read_struct(args, &view);
  if (read == Read::broken || !args.finished()) return session.bad_frame(request);
  if (read == Read::no_handle) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (session.driver.cuTexObjectCreate == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  if (session.texture_objects.size() >= kMostObjects)
    return session.finish(request, CUDA_ERROR_OUT_OF_MEMORY);
  CUtexObject object = 0;
  const CUresult result =
      session.driver.cuTexObjectCreate(&object, &resource, &sampling, has_view ? &view : nullptr);
  answer(session, request, result, object, session.texture_objects);
}

void cuTexObjectDestroy(Session& session, Request& request) {
  destroy(session, request, session.texture_objects, session.driver.cuTexObjectDestroy);
}

void cuSurfObjectCreate(Session& session, Request& request) {
  CUDA_RESOURCE_DESC resource{};
  const Read read = read_resource(session, request.args, &resource);
  if (read == Read::broken || !request.args.finished()) return session.bad_frame(request);
  if (read == Read::no_handle) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (session.driver.cuSurfObjectCreate == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  if (session.surface_objects.size() >= kMostObjects)
    return session.finish(request, CUDA_ERROR_OUT_OF_MEMORY);
  CUsurfObject object = 0;
  const CUresult result = session.driver.cuSurfObjectCreate(&object, &resource);
  answer(session, request, result, object, session.surface_objects);
}

void cuSurfObjectDestroy(Session& session, Request& request) {
  destroy(session, request, session.surface_objects, session.driver.cuSurfObjectDestroy);
}

}  // namespace sluice::worker::calls
