// Libraries and kernels.
#include <algorithm>
#include <unordered_map>

#include "common/log.h"
#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/module.h"

namespace sluice::softgpu {
namespace {

std::mutex libraries_mutex;
std::unordered_map<Library*, std::unique_ptr<Library>>& libraries() {
  static auto* all = new std::unordered_map<Library*, std::unique_ptr<Library>>;
  return *all;
}

CUresult find_library(CUlibrary handle, Library** out) {
  *out = lookup<Library>(handle);
  return *out == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult find_kernel(CUkernel handle, Kernel** out) {
  *out = lookup<Kernel>(handle);
  return *out == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

// What can be said without compiling is said now: no image, a damaged one, nothing for any device.
CUresult load(CUlibrary* out, const void* image) {
  if (out == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Images images;
  std::string why;
  if (const CUresult result = read_image(image, &images, &why); result != CUDA_SUCCESS) {
    SLUICE_WARN("softgpu: a library was not loaded: %s", why.c_str());
    return result;
  }
  int newest = 0;
  for (const auto& device : driver()->devices) newest = std::max(newest, device->cc());
  std::vector<const PtxImage*> usable;
  if (select_images(images, newest, &usable) != CUDA_SUCCESS) {
    SLUICE_WARN("softgpu: a library was not loaded: it holds no PTX for compute capability %d.%d or below",
                newest / 10, newest % 10);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  auto created = std::make_unique<Library>(std::move(images));
  *out = created->handle();
  const std::lock_guard lock(libraries_mutex);
  Library* key = created.get();
  libraries()[key] = std::move(created);
  return CUDA_SUCCESS;
}

CUresult library_variable(CUdeviceptr* address, size_t* bytes, CUlibrary handle, const char* name) {
  if (name == nullptr || (address == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  Library* library;
  SLUICE_TRY(find_library(handle, &library));
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  Module* module;
  SLUICE_TRY(library->module(*context, &module));
  uint64_t found = 0, size = 0;
  if (!module->variable(name, &found, &size)) return CUDA_ERROR_NOT_FOUND;
  if (address != nullptr) *address = found;
  if (bytes != nullptr) *bytes = size;
  return CUDA_SUCCESS;
}

// The kernel's function in the current context.
CUresult current_function(CUkernel handle, Function** out) {
  Kernel* kernel;
  SLUICE_TRY(find_kernel(handle, &kernel));
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  return kernel->function(*context, out);
}

// The kernel's function on the device: in the current context if it is of that device, else in its primary
// one.
CUresult function_on(Kernel& kernel, CUdevice ordinal, Function** out) {
  Device* device = driver()->device(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  Context* context = nullptr;
  if (current_context(&context) == CUDA_SUCCESS && &context->device == device)
    return kernel.function(*context, out);
  const std::lock_guard lock(device->primary_mutex);
  if (!device->primary || !device->primary->is_active()) return CUDA_ERROR_INVALID_CONTEXT;
  return kernel.function(*device->primary, out);
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuLibraryLoadData(CUlibrary* out, const void* image, CUjit_option*, void**, unsigned,
                             CUlibraryOption*, void**, unsigned) {
  return api([&] { return load(out, image); });
}
SLUICE_API cuLibraryLoadFromFile(CUlibrary* out, const char* path, CUjit_option*, void**, unsigned,
                                 CUlibraryOption*, void**, unsigned) {
  return api([&]() -> CUresult {
    std::vector<char> bytes;
    SLUICE_TRY(read_file(path, &bytes));
    return load(out, bytes.data());
  });
}
SLUICE_API cuLibraryUnload(CUlibrary handle) {
  return api([&]() -> CUresult {
    Library* library;
    SLUICE_TRY(find_library(handle, &library));
    std::unique_ptr<Library> removed;
    const std::lock_guard lock(libraries_mutex);
    const auto at = libraries().find(library);
    removed = std::move(at->second);
    libraries().erase(at);
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuLibraryGetKernel(CUkernel* out, CUlibrary handle, const char* name) {
  return api([&]() -> CUresult {
    if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Library* library;
    SLUICE_TRY(find_library(handle, &library));
    Kernel* kernel;
    SLUICE_TRY(library->kernel(name, &kernel));
    *out = kernel->handle();
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuLibraryGetKernelCount(unsigned* count, CUlibrary handle) {
  return api([&]() -> CUresult {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Library* library;
    SLUICE_TRY(find_library(handle, &library));
    std::vector<Kernel*> kernels;
    SLUICE_TRY(library->kernels(&kernels));
    *count = static_cast<unsigned>(kernels.size());
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuLibraryEnumerateKernels(CUkernel* out, unsigned count, CUlibrary handle) {
  return api([&]() -> CUresult {
    if (out == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    Library* library;
    SLUICE_TRY(find_library(handle, &library));
    std::vector<Kernel*> kernels;
    SLUICE_TRY(library->kernels(&kernels));
    for (size_t i = 0; i < kernels.size() && i < count; ++i) out[i] = kernels[i]->handle();
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuLibraryGetModule(CUmodule* out, CUlibrary handle) {
  return api([&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Library* library;
    SLUICE_TRY(find_library(handle, &library));
    Context* context;
    SLUICE_TRY(healthy_context(&context));
    Module* module;
    SLUICE_TRY(library->module(*context, &module));
    *out = module->handle();
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary handle, const char* name) {
  return api([&] { return library_variable(address, bytes, handle, name); });
}
// Host and device see the same bytes, so a managed variable is where the module's variable is.
SLUICE_API cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary handle, const char* name) {
  return api([&] { return library_variable(address, bytes, handle, name); });
}

SLUICE_API cuKernelGetFunction(CUfunction* out, CUkernel handle) {
  return api([&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Function* function;
    SLUICE_TRY(current_function(handle, &function));
    *out = function->handle();
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuKernelGetLibrary(CUlibrary* out, CUkernel handle) {
  return api([&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Kernel* kernel;
    SLUICE_TRY(find_kernel(handle, &kernel));
    *out = kernel->library.handle();
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuKernelGetName(const char** name, CUkernel handle) {
  return api([&]() -> CUresult {
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Kernel* kernel;
    SLUICE_TRY(find_kernel(handle, &kernel));
    *name = kernel->name.c_str();
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuKernelGetParamInfo(CUkernel handle, size_t index, size_t* offset, size_t* bytes) {
  return api([&]() -> CUresult {
    if (offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Function* function;
    SLUICE_TRY(current_function(handle, &function));
    if (index >= function->info.params.size()) return CUDA_ERROR_INVALID_VALUE;
    *offset = function->info.params[index].offset;
    if (bytes != nullptr) *bytes = function->info.params[index].size;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuKernelGetParamCount(CUkernel handle, size_t* count) {
  return api([&]() -> CUresult {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Function* function;
    SLUICE_TRY(current_function(handle, &function));
    *count = function->info.params.size();
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel handle,
                                CUdevice ordinal) {
  return api([&]() -> CUresult {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Kernel* kernel;
    SLUICE_TRY(find_kernel(handle, &kernel));
    Function* function;
    SLUICE_TRY(function_on(*kernel, ordinal, &function));
    return function->attribute(attribute, value);
  });
}
SLUICE_API cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle,
                                CUdevice ordinal) {
  return api([&]() -> CUresult {
    Kernel* kernel;
    SLUICE_TRY(find_kernel(handle, &kernel));
    const Device* device = driver()->device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    return kernel->set_attribute(attribute, value, *device);
  });
}
SLUICE_API cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice ordinal) {
  return api([&]() -> CUresult {
    Kernel* kernel;
    SLUICE_TRY(find_kernel(handle, &kernel));
    if (driver()->device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    const bool known = config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL;
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

namespace sluice::softgpu {

std::span<const Entry> library_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuLibraryLoadData", 12000, cuLibraryLoadData),
      SLUICE_ENTRY("cuLibraryLoadFromFile", 12000, cuLibraryLoadFromFile),
      SLUICE_ENTRY("cuLibraryUnload", 12000, cuLibraryUnload),
      SLUICE_ENTRY("cuLibraryGetKernel", 12000, cuLibraryGetKernel),
      SLUICE_ENTRY("cuLibraryGetKernelCount", 12040, cuLibraryGetKernelCount),
      SLUICE_ENTRY("cuLibraryEnumerateKernels", 12040, cuLibraryEnumerateKernels),
      SLUICE_ENTRY("cuLibraryGetModule", 12000, cuLibraryGetModule),
      SLUICE_ENTRY("cuLibraryGetGlobal", 12000, cuLibraryGetGlobal),
      SLUICE_ENTRY("cuLibraryGetManaged", 12000, cuLibraryGetManaged),
      SLUICE_ENTRY("cuKernelGetFunction", 12000, cuKernelGetFunction),
      SLUICE_ENTRY("cuKernelGetLibrary", 12050, cuKernelGetLibrary),
      SLUICE_ENTRY("cuKernelGetName", 12030, cuKernelGetName),
      SLUICE_ENTRY("cuKernelGetParamInfo", 12040, cuKernelGetParamInfo),
      SLUICE_ENTRY("cuKernelGetParamCount", 13020, cuKernelGetParamCount),
      SLUICE_ENTRY("cuKernelGetAttribute", 12000, cuKernelGetAttribute),
      SLUICE_ENTRY("cuKernelSetAttribute", 12000, cuKernelSetAttribute),
      SLUICE_ENTRY("cuKernelSetCacheConfig", 12000, cuKernelSetCacheConfig),
  };
  return entries;
}

}  // namespace sluice::softgpu
