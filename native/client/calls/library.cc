// Libraries: images that belong to no context, and their kernels.
#include "client/image_load.h"
#include "client/library_places.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

// Libraries are loaded before a context may be current; the first device's server is meant then.
CUresult enter(Scope* scope, Channel* channel = nullptr) {
  if (CUresult error = scope->enter()) return error;
  scope->channel = channel          ? channel
                   : scope->context ? scope->context->channel
                                    : scope->session->devices.front()->channel;
  return scope->channel->state();
}

CUresult bind_kernel(Scope& scope, Library& library, const char* name, CUkernel* out) {
  const Image& image = *library.image;
  const auto known = image.by_name.find(name);
  if (known == image.by_name.end() && image.listed) return CUDA_ERROR_NOT_FOUND;
  static const KernelInfo unknown_layout;
  Function* kernel =
      mint_function(*scope.session, library.image,
                    known == image.by_name.end() ? &unknown_layout : &image.kernels[known->second]);
  if (kernel == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  kernel->is_kernel = true;
  kernel->library = &library;
  wire::DynamicFrame frame(CallId::cuLibraryGetKernel, image.listed ? 0 : wire::kSync);
  frame.arguments().put(library.index);
  frame.arguments().put(kernel->index);
  frame.arguments().text(name);
  frame.complete();
  CUresult error = image.listed ? scope.post(frame) : scope.call_raw(frame.data(), frame.size(), nullptr);
  for (Channel* channel : library.elsewhere) {
    if (error != CUDA_SUCCESS || !image.listed) break;
    error = channel->post(0, frame.data(), frame.size());
  }
  if (error != CUDA_SUCCESS) {
    scope.session->functions.release(kernel);
    return error;
  }
  *out = static_cast<CUkernel>(kernel->handle);
  return CUDA_SUCCESS;
}

}  // namespace

// The library's options (a table of host functions, whether the image stays where it is) say nothing to
// a GPU elsewhere: the image is sent either way.
CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jitOptions,
                           void** jitOptionsValues, unsigned int numJitOptions, CUlibraryOption*, void**,
                           unsigned int) {
  if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = enter(&scope)) return error;
  Library* object = nullptr;
  if (scope.session->libraries.mint(&object) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  object->channel = scope.channel;
  if (CUresult error = load_image(scope, CallId::cuLibraryLoadData, object->index, code,
                                  {numJitOptions, jitOptions, jitOptionsValues}, &object->image)) {
    scope.session->libraries.release(object);
    return error;
  }
  if (scope.session->channels.size() > 1) {
    keep_source(*object, code, numJitOptions, jitOptions, jitOptionsValues);
  }
  *library = static_cast<CUlibrary>(object->handle);
  return CUDA_SUCCESS;
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* fileName, CUjit_option* jitOptions,
                               void** jitOptionsValues, unsigned int numJitOptions,
                               CUlibraryOption* libraryOptions, void** libraryOptionValues,
                               unsigned int numLibraryOptions) {
  if (fileName == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::vector<char> bytes = read_image_file(fileName);
  if (bytes.empty()) return CUDA_ERROR_FILE_NOT_FOUND;
  return cuLibraryLoadData(library, bytes.data(), jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
                           libraryOptionValues, numLibraryOptions);
}

CUresult cuLibraryUnload(CUlibrary library) {
  Scope scope;
  Library* object = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(library, &object)) return error;
  scope.channel = object->channel;
  wire::AsyncFrame<4> frame(CallId::cuLibraryUnload);
  frame.put(object->index);
  if (CUresult error = scope.post(frame)) return error;
  const std::lock_guard lock(object->mutex);
  for (Channel* channel : object->elsewhere) channel->post(0, frame.data(), frame.size());
  object->elsewhere.clear();
  object->source = {};
  for (const auto& [name, handle] : object->kernels) {
    if (Function* kernel = scope.session->functions.find(handle)) scope.session->functions.release(kernel);
  }
  for (const auto& [key, handle] : object->modules) {
    if (Module* module = scope.session->modules.find(handle)) scope.session->modules.release(module);
  }
  object->kernels.clear();
  object->modules.clear();
  scope.session->libraries.release(object);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel* pKernel, CUlibrary library, const char* name) {
  if (pKernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Library* object = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(library, &object)) return error;
  scope.channel = object->channel;
  const std::lock_guard lock(object->mutex);
  const auto known = object->kernels.find(name);
  if (known != object->kernels.end()) {
    *pKernel = known->second;
    return CUDA_SUCCESS;
  }
  if (CUresult error = bind_kernel(scope, *object, name, pKernel)) return error;
  object->kernels.emplace(name, *pKernel);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule* pMod, CUlibrary library) {
  if (pMod == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Library* object = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(library, &object)) return error;
  if (CUresult error = scope.need_context()) return error;
  if (CUresult error = ensure_library(*scope.session, *object, scope.channel)) return error;
  const std::lock_guard lock(object->mutex);
  CUmodule& known = object->modules[{scope.context, scope.context->epoch.load()}];
  if (known == nullptr) {
    Module* module = nullptr;
    if (scope.session->modules.mint(&module) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    module->belong_to(scope.context);
    module->image = object->image;
    module->library = object;
    wire::AsyncFrame<8> frame(CallId::cuLibraryGetModule);
    frame.put(module->index);
    frame.put(object->index);
    if (CUresult error = scope.post(frame)) return error;
    known = static_cast<CUmodule>(module->handle);
  }
  *pMod = known;
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr* dptr, size_t* bytes, CUlibrary library, const char* name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Library* object = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(library, &object)) return error;
  if (CUresult error = scope.need_context()) return error;
  if (CUresult error = ensure_library(*scope.session, *object, scope.channel)) return error;
  const std::lock_guard lock(object->mutex);
  const auto key = std::make_tuple(scope.context, scope.context->epoch.load(), std::string(name));
  auto known = object->globals.find(key);
  if (known == object->globals.end()) {
    wire::DynamicFrame frame(CallId::cuLibraryGetGlobal, wire::kSync);
    frame.arguments().put(object->index);
    frame.arguments().text(name);
    frame.complete();
    wire::FixedReply<16> reply;
    if (CUresult error = scope.call(frame, reply)) return error;
    const CUdeviceptr address = reply.get<uint64_t>();
    const size_t size = reply.get<uint64_t>();
    if (!reply.complete()) return CUDA_ERROR_UNKNOWN;
    known = object->globals.emplace(key, Global{address, size}).first;
    scope.session->memory.add_device(
        {address, size, scope.context, nullptr, scope.session->next_id.fetch_add(1)});
  }
  if (dptr != nullptr) *dptr = known->second.address;
  if (bytes != nullptr) *bytes = known->second.bytes;
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary lib) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Library* object = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(lib, &object)) return error;
  if (!object->image->listed) return CUDA_ERROR_NOT_SUPPORTED;
  *count = static_cast<unsigned>(object->image->kernels.size());
  return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int numKernels, CUlibrary lib) {
  if (kernels == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Library* object = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(lib, &object)) return error;
  const auto& infos = object->image->kernels;
  for (unsigned i = 0; i < numKernels && i < infos.size(); i++) {
    if (CUresult error = cuLibraryGetKernel(&kernels[i], lib, infos[i].name.c_str())) return error;
  }
  return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction* pFunc, CUkernel kernel) {
  if (pFunc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Function* object = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(kernel, &object)) return error;
  if (CUresult error = scope.need_context()) return error;
  const std::lock_guard lock(object->mutex);
  CUfunction& known = object->functions[{scope.context, scope.context->epoch.load()}];
  if (known == nullptr) {
    Function* function = mint_function(*scope.session, object->image, object->info);
    if (function == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    function->context = scope.context;
    function->epoch = scope.context->epoch.load();
    function->library = object->library;
    wire::AsyncFrame<8> frame(CallId::cuKernelGetFunction);
    frame.put(function->index);
    frame.put(object->index);
    if (CUresult error = scope.post(frame)) return error;
    known = static_cast<CUfunction>(function->handle);
  }
  *pFunc = known;
  return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary* pLib, CUkernel kernel) {
  if (pLib == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Function* object = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(kernel, &object)) return error;
  *pLib = static_cast<CUlibrary>(object->library->handle);
  return CUDA_SUCCESS;
}

}  // namespace sluice::client::calls
