// Modules: images loaded into a context.
#include "client/image_load.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

CUresult load(CUmodule* out, const void* pointer, const JitOptions& options) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.need_context()) return error;
  Module* module = nullptr;
  if (scope.session->modules.mint(&module) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  module->belong_to(scope.context);
  if (CUresult error =
          load_image(scope, CallId::cuModuleLoadData, module->index, pointer, options, &module->image)) {
    scope.session->modules.release(module);
    return error;
  }
  *out = static_cast<CUmodule>(module->handle);
  return CUDA_SUCCESS;
}

// The kernel of that name, which the worker is asked for where its driver cannot list them.
CUresult bind_function(Scope& scope, Module& module, const char* name, CUfunction* out) {
  const Image& image = *module.image;
  const auto known = image.by_name.find(name);
  if (known == image.by_name.end() && image.listed) return CUDA_ERROR_NOT_FOUND;
  static const KernelInfo unknown_layout;
  const KernelInfo* info = known == image.by_name.end() ? &unknown_layout : &image.kernels[known->second];
  Function* function = mint_function(*scope.session, module.image, info);
  if (function == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  function->context = module.context;
  function->epoch = module.epoch;
  function->module = &module;
  function->library = module.library;
  wire::DynamicFrame frame(CallId::cuModuleGetFunction, image.listed ? 0 : wire::kSync);
  frame.arguments().put(module.index);
  frame.arguments().put(function->index);
  frame.arguments().text(name);
  frame.complete();
  const CUresult error =
      image.listed ? scope.post(frame) : scope.call_raw(frame.data(), frame.size(), nullptr);
  if (error != CUDA_SUCCESS) {
    scope.session->functions.release(function);
    return error;
  }
  *out = static_cast<CUfunction>(function->handle);
  return CUDA_SUCCESS;
}

}  // namespace

// Lazy: an image is sent when a kernel of it is first used, not when the program starts.
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) { return load(module, image, {}); }

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int numOptions,
                            CUjit_option* options, void** optionValues) {
  return load(module, image, {numOptions, options, optionValues});
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* fatCubin) { return load(module, fatCubin, {}); }

CUresult cuModuleLoad(CUmodule* module, const char* fname) {
  if (fname == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::vector<char> bytes = read_image_file(fname);
  return bytes.empty() ? CUDA_ERROR_FILE_NOT_FOUND : load(module, bytes.data(), {});
}

CUresult cuModuleUnload(CUmodule hmod) {
  Scope scope;
  Module* module = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(hmod, &module)) return error;
  if (CUresult error = scope.need_context()) return error;
  wire::AsyncFrame<4> frame(CallId::cuModuleUnload);
  frame.put(module->index);
  if (CUresult error = scope.post(frame)) return error;
  const std::lock_guard lock(module->mutex);
  for (const auto& [name, handle] : module->functions) {
    if (Function* function = scope.session->functions.find(handle))
      scope.session->functions.release(function);
  }
  module->functions.clear();
  scope.session->modules.release(module);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
  if (hfunc == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Module* module = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(hmod, &module)) return error;
  if (CUresult error = scope.need_context()) return error;
  const std::lock_guard lock(module->mutex);
  const auto known = module->functions.find(name);
  if (known != module->functions.end()) {
    *hfunc = known->second;
    return CUDA_SUCCESS;
  }
  if (CUresult error = bind_function(scope, *module, name, hfunc)) return error;
  module->functions.emplace(name, *hfunc);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* dptr, size_t* bytes, CUmodule hmod, const char* name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Module* module = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(hmod, &module)) return error;
  if (CUresult error = scope.need_context()) return error;
  const std::lock_guard lock(module->mutex);
  auto known = module->globals.find(name);
  if (known == module->globals.end()) {
    wire::DynamicFrame frame(CallId::cuModuleGetGlobal_v2, wire::kSync);
    frame.arguments().put(module->index);
    frame.arguments().text(name);
    frame.complete();
    wire::FixedReply<16> reply;
    if (CUresult error = scope.call(frame, reply)) return error;
    const CUdeviceptr address = reply.get<uint64_t>();
    const size_t size = reply.get<uint64_t>();
    if (!reply.complete()) return CUDA_ERROR_UNKNOWN;
    known = module->globals.emplace(name, Global{address, size}).first;
    scope.session->memory.add_device(
        {address, size, scope.context, nullptr, scope.session->next_id.fetch_add(1)});
  }
  if (dptr != nullptr) *dptr = known->second.address;
  if (bytes != nullptr) *bytes = known->second.bytes;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule mod) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Module* module = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(mod, &module)) return error;
  if (!module->image->listed) return CUDA_ERROR_NOT_SUPPORTED;
  *count = static_cast<unsigned>(module->image->kernels.size());
  return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int numFunctions, CUmodule mod) {
  if (functions == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Module* module = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(mod, &module)) return error;
  const auto& kernels = module->image->kernels;
  for (unsigned i = 0; i < numFunctions && i < kernels.size(); i++) {
    if (CUresult error = cuModuleGetFunction(&functions[i], mod, kernels[i].name.c_str())) return error;
  }
  return CUDA_SUCCESS;
}

}  // namespace sluice::client::calls
