// Modules: loading, what they contain.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/module.h"

namespace sluice::softgpu {
namespace {

CUresult find_module(CUmodule handle, Module** out) {
  *out = lookup<Module>(handle);
  return *out == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult load(CUmodule* out, const void* image, JitReport* report) {
  if (out == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  return load_module(*context, image, report, out);
}

// The options' values are numbers or pointers in the clothes of a pointer.
CUresult load_with_options(CUmodule* out, const void* image, unsigned count, CUjit_option* options,
                           void** values) {
  if (count > 0 && (options == nullptr || values == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  JitReport report;
  void** error_log_bytes = nullptr;
  for (unsigned i = 0; i < count; ++i) {
    switch (options[i]) {
      case CU_JIT_ERROR_LOG_BUFFER:
        report.error_log = static_cast<char*>(values[i]);
        break;
      case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        report.error_log_bytes = reinterpret_cast<uintptr_t>(values[i]) & 0xffffffffu;
        error_log_bytes = &values[i];
        break;
      case CU_JIT_INFO_LOG_BUFFER:
        if (values[i] != nullptr) static_cast<char*>(values[i])[0] = '\0';
        break;
      case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        values[i] = nullptr;  // nothing was written
        break;
      default:
        break;  // tuning that does not apply here
    }
  }
  const CUresult result = load(out, image, &report);
  if (error_log_bytes != nullptr) {
    *error_log_bytes = reinterpret_cast<void*>(result == CUDA_SUCCESS ? 0 : report.error_log_bytes);
  }
  return result;
}

}  // namespace

CUresult read_file(const char* path, std::vector<char>* out) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  out->assign(std::istreambuf_iterator<char>(file), {});
  out->insert(out->end(), 16, '\0');  // ends a text, and lets a short file be looked at
  return CUDA_SUCCESS;
}

}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuModuleLoadData(CUmodule* out, const void* image) {
  return api([&] { return load(out, image, nullptr); });
}
SLUICE_API cuModuleLoadFatBinary(CUmodule* out, const void* image) {
  return api([&] { return load(out, image, nullptr); });
}
SLUICE_API cuModuleLoadDataEx(CUmodule* out, const void* image, unsigned count, CUjit_option* options,
                              void** values) {
  return api([&] { return load_with_options(out, image, count, options, values); });
}
SLUICE_API cuModuleLoad(CUmodule* out, const char* path) {
  return api([&]() -> CUresult {
    std::vector<char> bytes;
    SLUICE_TRY(read_file(path, &bytes));
    return load(out, bytes.data(), nullptr);
  });
}
SLUICE_API cuModuleUnload(CUmodule handle) {
  return api([&]() -> CUresult {
    Module* module;
    SLUICE_TRY(find_module(handle, &module));
    if (module->library != nullptr) return CUDA_ERROR_INVALID_HANDLE;  // goes with its library
    unload(*module);
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuModuleGetFunction(CUfunction* out, CUmodule handle, const char* name) {
  return api([&]() -> CUresult {
    if (out == nullptr || name == nullptr || *name == '\0') return CUDA_ERROR_INVALID_VALUE;
    Module* module;
    SLUICE_TRY(find_module(handle, &module));
    Function* function = module->function(name);
    if (function == nullptr) return CUDA_ERROR_NOT_FOUND;
    *out = function->handle();
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule handle, const char* name) {
  return api([&]() -> CUresult {
    if (name == nullptr || (address == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    Module* module;
    SLUICE_TRY(find_module(handle, &module));
    uint64_t found = 0, size = 0;
    if (!module->variable(name, &found, &size)) return CUDA_ERROR_NOT_FOUND;
    if (address != nullptr) *address = found;
    if (bytes != nullptr) *bytes = size;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuModuleGetFunctionCount(unsigned* count, CUmodule handle) {
  return api([&]() -> CUresult {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Module* module;
    SLUICE_TRY(find_module(handle, &module));
    *count = static_cast<unsigned>(module->functions().size());
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuModuleEnumerateFunctions(CUfunction* out, unsigned count, CUmodule handle) {
  return api([&]() -> CUresult {
    if (out == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    Module* module;
    SLUICE_TRY(find_module(handle, &module));
    const auto functions = module->functions();
    for (size_t i = 0; i < functions.size() && i < count; ++i) out[i] = functions[i]->handle();
    return CUDA_SUCCESS;
  });
}

namespace sluice::softgpu {

std::span<const Entry> module_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuModuleLoadData", 2000, cuModuleLoadData),
      SLUICE_ENTRY("cuModuleLoadDataEx", 2010, cuModuleLoadDataEx),
      SLUICE_ENTRY("cuModuleLoadFatBinary", 2000, cuModuleLoadFatBinary),
      SLUICE_ENTRY("cuModuleLoad", 2000, cuModuleLoad),
      SLUICE_ENTRY("cuModuleUnload", 2000, cuModuleUnload),
      SLUICE_ENTRY("cuModuleGetFunction", 2000, cuModuleGetFunction),
      SLUICE_ENTRY("cuModuleGetGlobal", 3020, cuModuleGetGlobal_v2),
      SLUICE_ENTRY("cuModuleGetFunctionCount", 12040, cuModuleGetFunctionCount),
      SLUICE_ENTRY("cuModuleEnumerateFunctions", 12040, cuModuleEnumerateFunctions),
  };
  return entries;
}

}  // namespace sluice::softgpu
