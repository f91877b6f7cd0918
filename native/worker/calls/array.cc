// Arrays and mipmapped arrays, within the memory that was granted.
#include "common/array_format.h"
#include "worker/calls/session.h"

namespace sluice::worker::calls {
namespace {

constexpr uint64_t kGranularity = 512;  // what drivers round allocations to

CUDA_ARRAY3D_DESCRIPTOR read_descriptor(wire::Reader& args) {
  CUDA_ARRAY3D_DESCRIPTOR d{};
  for (size_t* extent : {&d.Width, &d.Height, &d.Depth}) *extent = args.get<uint64_t>();
  d.Format = static_cast<CUarray_format>(args.get<int32_t>());
  d.NumChannels = args.get<uint32_t>();
  d.Flags = args.get<uint32_t>();
  return d;
}

bool can_defer(Session& session) {
  int yes = 0;
  return session.driver.cuDeviceGetAttribute(
             &yes, CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED,
             session.device(static_cast<int32_t>(session.current_ordinal()))) == CUDA_SUCCESS &&
         yes != 0;
}

// What the driver would take for the array, with its padding: it tells that of an array that has no memory
// yet. Nothing when it does not tell.
std::optional<uint64_t> padded_bytes(Session& session, CUDA_ARRAY3D_DESCRIPTOR descriptor) {
  generated::DriverTable& driver = session.driver;
  descriptor.Flags |= CUDA_ARRAY3D_DEFERRED_MAPPING;
  CUarray array = nullptr;
  CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
  if (driver.cuArrayGetMemoryRequirements == nullptr || !can_defer(session) ||
      driver.cuArray3DCreate_v2(&array, &descriptor) != CUDA_SUCCESS) {
    return std::nullopt;
  }
  const CUdevice device = session.device(static_cast<int32_t>(session.current_ordinal()));
  const CUresult result = driver.cuArrayGetMemoryRequirements(&needs, array, device);
  driver.cuArrayDestroy(array);
  return result == CUDA_SUCCESS ? std::optional<uint64_t>(needs.size) : std::nullopt;
}

std::optional<uint64_t> padded_bytes(Session& session, CUDA_ARRAY3D_DESCRIPTOR descriptor, unsigned levels) {
  generated::DriverTable& driver = session.driver;
  descriptor.Flags |= CUDA_ARRAY3D_DEFERRED_MAPPING;
  CUmipmappedArray mipmap = nullptr;
  CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
  if (driver.cuMipmappedArrayGetMemoryRequirements == nullptr || !can_defer(session) ||
      driver.cuMipmappedArrayCreate(&mipmap, &descriptor, levels) != CUDA_SUCCESS) {
    return std::nullopt;
  }
  const CUdevice device = session.device(static_cast<int32_t>(session.current_ordinal()));
  const CUresult result = driver.cuMipmappedArrayGetMemoryRequirements(&needs, mipmap, device);
  driver.cuMipmappedArrayDestroy(mipmap);
  return result == CUDA_SUCCESS ? std::optional<uint64_t>(needs.size) : std::nullopt;
}

bool has_memory(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  return (descriptor.Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) == 0;
}

// Counts the memory, creates, and keeps the books whatever comes of it.
template <typename Create>
CUresult create(Session& session, uint32_t index, uint64_t bytes,
                std::map<uint32_t, Session::Allocation>& books, Create&& body) {
  const uint64_t counted = (bytes + kGranularity - 1) / kGranularity * kGranularity;
  const size_t ordinal = session.current_ordinal();
  if (counted < bytes || !session.context.memory.reserve(ordinal, counted)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = body();
  if (result != CUDA_SUCCESS || counted == 0) {
    session.context.memory.release(ordinal, counted);
    return result;
  }
  books[index] = {ordinal, counted, session.current_context()};
  return CUDA_SUCCESS;
}

void forget(Session& session, uint32_t index, std::map<uint32_t, Session::Allocation>& books) {
  const auto known = books.find(index);
  if (known == books.end()) return;
  session.context.memory.release(known->second.ordinal, known->second.bytes);
  books.erase(known);
}

template <typename Properties>
void answer(Session& session, Request& request, CUresult result, const Properties& properties) {
  wire::Writer out;
  if (result == CUDA_SUCCESS) out.bytes(&properties, sizeof properties);
  session.finish(request, result, out);
}

template <typename Handle>
void sparse_properties(Session& session, Request& request,
                       CUresult (*ask)(CUDA_ARRAY_SPARSE_PROPERTIES*, Handle)) {
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  Handle handle = nullptr;
  if (!session.find(index, &handle)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (ask == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  CUDA_ARRAY_SPARSE_PROPERTIES properties{};
  answer(session, request, ask(&properties, handle), properties);
}

template <typename Handle>
void memory_requirements(Session& session, Request& request,
                         CUresult (*ask)(CUDA_ARRAY_MEMORY_REQUIREMENTS*, Handle, CUdevice)) {
  const auto index = request.args.get<uint32_t>();
  const auto ordinal = request.args.get<int32_t>();
  if (!request.args.finished() || !session.device_exists(ordinal)) return session.bad_frame(request);
  Handle handle = nullptr;
  if (!session.find(index, &handle)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (ask == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
  answer(session, request, ask(&needs, handle, session.device(ordinal)), needs);
}

}  // namespace

void cuArray3DCreate_v2(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = read_descriptor(request.args);
  if (!request.args.finished()) return session.bad_frame(request);
  if (session.driver.cuArray3DCreate_v2 == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  const auto least = array_bytes(descriptor);
  if (!least) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  uint64_t bytes = 0;
  if (has_memory(descriptor)) bytes = std::max(*least, padded_bytes(session, descriptor).value_or(*least));
  CUarray array = nullptr;
  const CUresult result = create(session, index, bytes, session.array_memory,
                                 [&] { return session.driver.cuArray3DCreate_v2(&array, &descriptor); });
  if (result == CUDA_SUCCESS) session.bind(index, array);
  session.finish(request, result);
}

void cuArrayDestroy(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUarray array = nullptr;
  if (!session.take(index, &array)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  session.settle_host_tasks();  // it waits for the work that uses the array
  const CUresult result = session.driver.cuArrayDestroy(array);
  if (result == CUDA_SUCCESS) forget(session, index, session.array_memory);
  session.finish(request, result);
}

void cuArrayGetPlane(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const auto array_index = request.args.get<uint32_t>();
  const auto number = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUarray array = nullptr;
  CUarray plane = nullptr;
  if (!session.find(array_index, &array)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (session.driver.cuArrayGetPlane == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  const CUresult result = session.driver.cuArrayGetPlane(&plane, array, number);
  if (result == CUDA_SUCCESS) session.bind(index, plane);
  session.finish(request, result);
}

void cuMipmappedArrayCreate(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = read_descriptor(request.args);
  const auto levels = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  if (session.driver.cuMipmappedArrayCreate == nullptr)
    return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  const auto least = mipmap_bytes(descriptor, levels);
  if (!least) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  uint64_t bytes = 0;
  if (has_memory(descriptor))
    bytes = std::max(*least, padded_bytes(session, descriptor, levels).value_or(*least));
  CUmipmappedArray mipmap = nullptr;
  const CUresult result = create(session, index, bytes, session.mipmap_memory, [&] {
    return session.driver.cuMipmappedArrayCreate(&mipmap, &descriptor, levels);
  });
  if (result == CUDA_SUCCESS) session.bind(index, mipmap);
  session.finish(request, result);
}

void cuMipmappedArrayGetLevel(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const auto mipmap_index = request.args.get<uint32_t>();
  const auto level = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUmipmappedArray mipmap = nullptr;
  CUarray array = nullptr;
  if (!session.find(mipmap_index, &mipmap)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  const CUresult result = session.driver.cuMipmappedArrayGetLevel(&array, mipmap, level);
  if (result == CUDA_SUCCESS) session.bind(index, array);
  session.finish(request, result);
}

void cuMipmappedArrayDestroy(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUmipmappedArray mipmap = nullptr;
  if (!session.take(index, &mipmap)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  session.settle_host_tasks();
  const CUresult result = session.driver.cuMipmappedArrayDestroy(mipmap);
  if (result == CUDA_SUCCESS) forget(session, index, session.mipmap_memory);
  session.finish(request, result);
}

void cuArrayGetSparseProperties(Session& session, Request& request) {
  sparse_properties(session, request, session.driver.cuArrayGetSparseProperties);
}
void cuMipmappedArrayGetSparseProperties(Session& session, Request& request) {
  sparse_properties(session, request, session.driver.cuMipmappedArrayGetSparseProperties);
}
void cuArrayGetMemoryRequirements(Session& session, Request& request) {
  memory_requirements(session, request, session.driver.cuArrayGetMemoryRequirements);
}
void cuMipmappedArrayGetMemoryRequirements(Session& session, Request& request) {
  memory_requirements(session, request, session.driver.cuMipmappedArrayGetMemoryRequirements);
}

void cuDeviceGetTexture1DLinearMaxWidth(Session& session, Request& request) {
  const auto format = static_cast<CUarray_format>(request.args.get<int32_t>());
  const auto channels = request.args.get<uint32_t>();
  const auto ordinal = request.args.get<int32_t>();
  if (!request.args.finished() || !session.device_exists(ordinal)) return session.bad_frame(request);
  if (session.driver.cuDeviceGetTexture1DLinearMaxWidth == nullptr)
    return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  size_t width = 0;
  const CUresult result =
      session.driver.cuDeviceGetTexture1DLinearMaxWidth(&width, format, channels, session.device(ordinal));
  wire::Writer out;
  if (result == CUDA_SUCCESS) out.put(uint64_t{width});
  session.finish(request, result, out);
}

}  // namespace sluice::worker::calls
