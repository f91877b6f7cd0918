// Texture and surface references: what has text or structures in it.
#include "worker/calls/session.h"

namespace sluice::worker::calls {
namespace {

constexpr size_t kMaxName = 64u << 10;

template <typename Reference>
void get_of_module(Session& session, Request& request, CUresult (*body)(Reference*, CUmodule, const char*)) {
  const auto index = request.args.get<uint32_t>();
  const auto module_index = request.args.get<uint32_t>();
  const std::string name = request.args.text(kMaxName);
  if (!request.args.finished()) return session.bad_frame(request);
  CUmodule module = nullptr;
  Reference reference = nullptr;
  if (!session.find(module_index, &module)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (body == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  const CUresult result = body(&reference, module, name.c_str());
  if (result == CUDA_SUCCESS) session.bind(index, reference);
  session.finish(request, result);
}

}  // namespace

void cuModuleGetTexRef(Session& session, Request& request) {
  get_of_module(session, request, session.driver.cuModuleGetTexRef);
}
void cuModuleGetSurfRef(Session& session, Request& request) {
  get_of_module(session, request, session.driver.cuModuleGetSurfRef);
}

void cuTexRefSetAddress2D_v3(Session& session, Request& request) {
  wire::Reader& args = request.args;
  const auto index = args.get<uint32_t>();
  CUDA_ARRAY_DESCRIPTOR descriptor{};
  descriptor.Width = args.get<uint64_t>();
  descriptor.Height = args.get<uint64_t>();
  descriptor.Format = static_cast<CUarray_format>(args.get<int32_t>());
  descriptor.NumChannels = args.get<uint32_t>();
  const auto address = args.get<uint64_t>();
  const auto pitch = args.get<uint64_t>();
  if (!args.finished()) return session.bad_frame(request);
  CUtexref reference = nullptr;
  if (!session.find(index, &reference)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (session.driver.cuTexRefSetAddress2D_v3 == nullptr)
    return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  session.finish(request, session.driver.cuTexRefSetAddress2D_v3(reference, &descriptor, address, pitch));
}

void cuTexRefSetBorderColor(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  float color[4];
  for (float& channel : color) channel = request.args.get<float>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUtexref reference = nullptr;
  if (!session.find(index, &reference)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (session.driver.cuTexRefSetBorderColor == nullptr)
    return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  session.finish(request, session.driver.cuTexRefSetBorderColor(reference, color));
}

void cuTexRefGetBorderColor(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUtexref reference = nullptr;
  if (!session.find(index, &reference)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (session.driver.cuTexRefGetBorderColor == nullptr)
    return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  float color[4] = {};
  const CUresult result = session.driver.cuTexRefGetBorderColor(color, reference);
  wire::Writer answer;
  if (result == CUDA_SUCCESS) {
    for (const float channel : color) answer.put(channel);
  }
  session.finish(request, result, answer);
}

}  // namespace sluice::worker::calls
