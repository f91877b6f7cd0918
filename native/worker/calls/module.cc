// Modules and libraries: loading, and binding what they hold to the client's handles.
#include <chrono>

#include "worker/calls/image.h"

namespace sluice::worker::calls {
namespace {

constexpr size_t kMaxName = 64u << 10;

// Reads the image, runs `body`, answers with the table that `body` wrote.
template <typename Body>
void load(Session& session, Request& request, Body&& body) {
  ImageRequest image;
  switch (read_image_request(session, request, &image)) {
    case ImageStatus::failed:
      return;
    case ImageStatus::not_known:
      return answer_not_known(session, request);
    case ImageStatus::ready:
      break;
  }
  const auto start = std::chrono::steady_clock::now();
  wire::Writer table;
  const CUresult result = body(image, table);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  answer_load(session, request, result, image, took.count(), table);
}

void answer_global(Session& session, Request& request, CUresult result, CUdeviceptr address, size_t bytes) {
  wire::Writer answer;
  if (result == CUDA_SUCCESS) {
    answer.put(uint64_t{address});
    answer.put(uint64_t{bytes});
  }
  session.finish(request, result, answer);
}

}  // namespace

void cuModuleLoadData(Session& session, Request& request) {
  load(session, request, [&](ImageRequest& image, wire::Writer& table) {
    CUmodule module = nullptr;
    const auto options = static_cast<unsigned>(image.option_names.size());
    const CUresult result = options == 0 ? session.driver.cuModuleLoadData(&module, image.data())
                                         : session.driver.cuModuleLoadDataEx(&module, image.data(), options,
                                                                             image.option_names.data(),
                                                                             image.option_values.data());
    if (result != CUDA_SUCCESS) return result;
    session.bind(image.index, module);
    describe_module(session, module, table);
    return result;
  });
}

void cuLibraryLoadData(Session& session, Request& request) {
  load(session, request, [&](ImageRequest& image, wire::Writer& table) {
    if (session.driver.cuLibraryLoadData == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    CUlibrary library = nullptr;
    const CUresult result = session.driver.cuLibraryLoadData(
        &library, image.data(), image.option_names.data(), image.option_values.data(),
        static_cast<unsigned>(image.option_names.size()), nullptr, nullptr, 0);
    if (result != CUDA_SUCCESS) return result;
    session.bind(image.index, library);
    describe_library(session, library, table);
    return result;
  });
}

void cuModuleUnload(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUmodule module = nullptr;
  if (!session.take(index, &module)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  session.settle_host_tasks();
  session.finish(request, session.driver.cuModuleUnload(module));
}

void cuLibraryUnload(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUlibrary library = nullptr;
  if (!session.take(index, &library)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  session.settle_host_tasks();
  session.finish(request, session.driver.cuLibraryUnload(library));
}

void cuModuleGetFunction(Session& session, Request& request) {
  const auto module_index = request.args.get<uint32_t>();
  const auto index = request.args.get<uint32_t>();
  const std::string name = request.args.text(kMaxName);
  if (!request.args.finished()) return session.bad_frame(request);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  if (!session.find(module_index, &module)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  const CUresult result = session.driver.cuModuleGetFunction(&function, module, name.c_str());
  if (result == CUDA_SUCCESS) session.bind(index, function);
  session.finish(request, result);
}

void cuLibraryGetKernel(Session& session, Request& request) {
  const auto library_index = request.args.get<uint32_t>();
  const auto index = request.args.get<uint32_t>();
  const std::string name = request.args.text(kMaxName);
  if (!request.args.finished()) return session.bad_frame(request);
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  if (!session.find(library_index, &library)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  const CUresult result = session.driver.cuLibraryGetKernel(&kernel, library, name.c_str());
  if (result == CUDA_SUCCESS) session.bind(index, kernel);
  session.finish(request, result);
}

void cuLibraryGetModule(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const auto library_index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUlibrary library = nullptr;
  CUmodule module = nullptr;
  if (!session.find(library_index, &library)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  const CUresult result = session.driver.cuLibraryGetModule(&module, library);
  if (result == CUDA_SUCCESS) session.bind(index, module);
  session.finish(request, result);
}

void cuKernelGetFunction(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const auto kernel_index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  if (!session.find(kernel_index, &kernel)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  const CUresult result = session.driver.cuKernelGetFunction(&function, kernel);
  if (result == CUDA_SUCCESS) session.bind(index, function);
  session.finish(request, result);
}

void cuKernelSetAttribute(Session& session, Request& request) {
  const auto attribute = static_cast<CUfunction_attribute>(request.args.get<int32_t>());
  const auto value = request.args.get<int32_t>();
  const auto index = request.args.get<uint32_t>();
  const auto ordinal = request.args.get<int32_t>();
  if (!request.args.finished() || !session.device_exists(ordinal)) return session.bad_frame(request);
  CUkernel kernel = nullptr;
  if (!session.find(index, &kernel)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  session.finish(request,
                 session.driver.cuKernelSetAttribute(attribute, value, kernel, session.device(ordinal)));
}

void cuModuleGetGlobal_v2(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const std::string name = request.args.text(kMaxName);
  if (!request.args.finished()) return session.bad_frame(request);
  CUmodule module = nullptr;
  CUdeviceptr address = 0;
  size_t bytes = 0;
  if (!session.find(index, &module)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  const CUresult result = session.driver.cuModuleGetGlobal_v2(&address, &bytes, module, name.c_str());
  answer_global(session, request, result, address, bytes);
}

void cuLibraryGetGlobal(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const std::string name = request.args.text(kMaxName);
  if (!request.args.finished()) return session.bad_frame(request);
  CUlibrary library = nullptr;
  CUdeviceptr address = 0;
  size_t bytes = 0;
  if (!session.find(index, &library)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  const CUresult result = session.driver.cuLibraryGetGlobal(&address, &bytes, library, name.c_str());
  answer_global(session, request, result, address, bytes);
}

}  // namespace sluice::worker::calls
