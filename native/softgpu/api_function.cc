// Functions: their attributes and parameters.
#include "softgpu/api.h"
#include "softgpu/launch.h"

using namespace sluice::softgpu;

SLUICE_API cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  return api([&]() -> CUresult {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Function* function;
    SLUICE_TRY(find_function(handle, &function));
    return function->attribute(attribute, value);
  });
}
SLUICE_API cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return api([&]() -> CUresult {
    Function* function;
    SLUICE_TRY(find_function(handle, &function));
    return function->settings.set(function->info, function->module.context.device, attribute, value);
  });
}
SLUICE_API cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* bytes) {
  return api([&]() -> CUresult {
    if (offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Function* function;
    SLUICE_TRY(find_function(handle, &function));
    if (index >= function->info.params.size()) return CUDA_ERROR_INVALID_VALUE;
    *offset = function->info.params[index].offset;
    if (bytes != nullptr) *bytes = function->info.params[index].size;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuFuncGetParamCount(CUfunction handle, size_t* count) {
  return api([&]() -> CUresult {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Function* function;
    SLUICE_TRY(find_function(handle, &function));
    *count = function->info.params.size();
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuFuncGetModule(CUmodule* out, CUfunction handle) {
  return api([&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Function* function;
    SLUICE_TRY(find_function(handle, &function));
    *out = function->module.handle();
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuFuncGetName(const char** name, CUfunction handle) {
  return api([&]() -> CUresult {
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Function* function;
    SLUICE_TRY(find_function(handle, &function));
    *name = function->info.name.c_str();
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config) {
  return api([&]() -> CUresult {
    Function* function;
    SLUICE_TRY(find_function(handle, &function));
    const bool known = config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL;
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}
SLUICE_API cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config) {
  return api([&]() -> CUresult {
    Function* function;
    SLUICE_TRY(find_function(handle, &function));
    const bool known = config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE &&
                       config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE;
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}
// A module is compiled as a whole, so each of its functions is there.
SLUICE_API cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) {
  return api([&]() -> CUresult {
    if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Function* function;
    SLUICE_TRY(find_function(handle, &function));
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuFuncLoad(CUfunction handle) {
  return api([&]() -> CUresult {
    Function* function;
    return find_function(handle, &function);
  });
}

namespace sluice::softgpu {

std::span<const Entry> function_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuFuncGetAttribute", 2020, cuFuncGetAttribute),
      SLUICE_ENTRY("cuFuncSetAttribute", 9000, cuFuncSetAttribute),
      SLUICE_ENTRY("cuFuncGetParamInfo", 12040, cuFuncGetParamInfo),
      SLUICE_ENTRY("cuFuncGetParamCount", 13020, cuFuncGetParamCount),
      SLUICE_ENTRY("cuFuncGetModule", 11000, cuFuncGetModule),
      SLUICE_ENTRY("cuFuncGetName", 12030, cuFuncGetName),
      SLUICE_ENTRY("cuFuncSetCacheConfig", 3000, cuFuncSetCacheConfig),
      SLUICE_ENTRY("cuFuncSetSharedMemConfig", 4020, cuFuncSetSharedMemConfig),
      SLUICE_ENTRY("cuFuncIsLoaded", 12040, cuFuncIsLoaded),
      SLUICE_ENTRY("cuFuncLoad", 12040, cuFuncLoad),
  };
  return entries;
}

}  // namespace sluice::softgpu
