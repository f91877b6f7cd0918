// Functions and kernels: names, layouts, attributes and occupancy.
#include <algorithm>

#include "client/library_places.h"
#include "client/scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

template <typename Handle>
CUresult find_in_scope(Scope* scope, Handle handle, Function** function) {
  if (CUresult error = scope->enter()) return error;
  return scope->find(handle, function);
}

CUresult attribute_of(const Function& function, CUfunction_attribute attribute, int* value) {
  if (value == nullptr || attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
    return CUDA_ERROR_INVALID_VALUE;
  *value = function.attributes[static_cast<size_t>(attribute)].load(std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

CUresult parameter_of(const Function& function, size_t index, size_t* offset, size_t* size) {
  if (offset == nullptr || !function.info->has_layout || index >= function.info->parameters.size()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *offset = function.info->parameters[index].offset;
  if (size != nullptr) *size = function.info->parameters[index].size;
  return CUDA_SUCCESS;
}

// Remembers the value; occupancy depends on it.
CUresult remember_attribute(Function& function, CUfunction_attribute attribute, int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  function.attributes[static_cast<size_t>(attribute)].store(value, std::memory_order_relaxed);
  const std::lock_guard lock(function.mutex);
  function.occupancy.clear();
  function.cluster_occupancy.clear();
  return CUDA_SUCCESS;
}

// The limit is checked at once, as programs that probe it expect.
CUresult check_shared_size(const Scope& scope, const Function& function, CUfunction_attribute attribute,
                           int value) {
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || scope.context == nullptr)
    return CUDA_SUCCESS;
  const Device& device = *scope.session->devices[static_cast<size_t>(scope.context->device)];
  const int most = device.attributes[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN];
  const int fixed = function.attributes[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES].load();
  return value < 0 || value > most - fixed ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

CUresult cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  Scope scope;
  Function* function = nullptr;
  if (CUresult error = find_in_scope(&scope, hfunc, &function)) return error;
  return attribute_of(*function, attrib, pi);
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  Scope scope;
  Function* function = nullptr;
  if (CUresult error = find_in_scope(&scope, hfunc, &function)) return error;
  if (CUresult error = scope.need_context()) return error;
  if (CUresult error = check_shared_size(scope, *function, attrib, value)) return error;
  if (CUresult error = remember_attribute(*function, attrib, value)) return error;
  wire::AsyncFrame<12> frame(CallId::cuFuncSetAttribute);
  frame.put(function->index);
  frame.put(static_cast<int32_t>(attrib));
  frame.put(int32_t{value});
  return scope.post(frame);
}

CUresult cuFuncGetModule(CUmodule* hmod, CUfunction hfunc) {
  if (hmod == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Function* function = nullptr;
  if (CUresult error = find_in_scope(&scope, hfunc, &function)) return error;
  if (function->module != nullptr) {
    *hmod = static_cast<CUmodule>(function->module->handle);
    return CUDA_SUCCESS;
  }
  return cuLibraryGetModule(hmod, static_cast<CUlibrary>(function->library->handle));
}

CUresult cuFuncGetName(const char** name, CUfunction hfunc) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Function* function = nullptr;
  if (CUresult error = find_in_scope(&scope, hfunc, &function)) return error;
  *name = function->info->name.c_str();
  return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  Scope scope;
  Function* function = nullptr;
  if (CUresult error = find_in_scope(&scope, func, &function)) return error;
  return parameter_of(*function, paramIndex, paramOffset, paramSize);
}

CUresult cuFuncGetParamCount(CUfunction func, size_t* paramCount) {
  if (paramCount == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Function* function = nullptr;
  if (CUresult error = find_in_scope(&scope, func, &function)) return error;
  *paramCount = function->info->parameters.size();
  return CUDA_SUCCESS;
}

// The worker's driver loads a kernel with its image, as far as a program can see.
CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction func) {
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Function* function = nullptr;
  if (CUresult error = find_in_scope(&scope, func, &function)) return error;
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int* pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev) {
  Scope scope;
  Function* function = nullptr;
  if (CUresult error = find_in_scope(&scope, kernel, &function)) return error;
  if (scope.session->device(dev) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  return attribute_of(*function, attrib, pi);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev) {
  Scope scope;
  Function* function = nullptr;
  if (CUresult error = find_in_scope(&scope, kernel, &function)) return error;
  const Device* device = scope.session->device(dev);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (CUresult error = check_shared_size(scope, *function, attrib, val)) return error;
  if (CUresult error = remember_attribute(*function, attrib, val)) return error;
  if (CUresult error = ensure_library(*scope.session, *function->library, device->channel)) return error;
  wire::AsyncFrame<16> frame(CallId::cuKernelSetAttribute);
  frame.put(static_cast<int32_t>(attrib));
  frame.put(int32_t{val});
  frame.put(function->index);
  frame.put(int32_t{device->ordinal_there});
  return device->channel->post(0, frame.data(), frame.size());
}

CUresult cuKernelGetName(const char** name, CUkernel hfunc) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Function* function = nullptr;
  if (CUresult error = find_in_scope(&scope, hfunc, &function)) return error;
  *name = function->info->name.c_str();
  return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  Scope scope;
  Function* function = nullptr;
  if (CUresult error = find_in_scope(&scope, kernel, &function)) return error;
  return parameter_of(*function, paramIndex, paramOffset, paramSize);
}

CUresult cuKernelGetParamCount(CUkernel kernel, size_t* paramCount) {
  if (paramCount == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Function* function = nullptr;
  if (CUresult error = find_in_scope(&scope, kernel, &function)) return error;
  *paramCount = function->info->parameters.size();
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks, CUfunction func, int blockSize,
                                                              size_t dynamicSMemSize, unsigned int flags) {
  if (numBlocks == nullptr || blockSize <= 0) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Function* function = nullptr;
  if (CUresult error = find_in_scope(&scope, func, &function)) return error;
  if (CUresult error = scope.need_context()) return error;
  const auto key = std::make_tuple(scope.context, blockSize, dynamicSMemSize, flags);
  {
    const std::lock_guard lock(function->mutex);
    const auto known = function->occupancy.find(key);
    if (known != function->occupancy.end()) {
      *numBlocks = known->second;
      return CUDA_SUCCESS;
    }
  }
  wire::SyncFrame<20> frame(CallId::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags);
  frame.put(function->index);
  frame.put(int32_t{blockSize});
  frame.put(uint64_t{dynamicSMemSize});
  frame.put(uint32_t{flags});
  wire::FixedReply<4> reply;
  if (CUresult error = scope.call(frame, reply)) return error;
  *numBlocks = reply.get<int32_t>();
  const std::lock_guard lock(function->mutex);
  function->occupancy[key] = *numBlocks;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, CUfunction func, int blockSize,
                                                     size_t dynamicSMemSize) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize, dynamicSMemSize,
                                                              CU_OCCUPANCY_DEFAULT);
}

// The block size with the most resident threads; among equals the greater block. The grid fills the device.
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* minGridSize, int* blockSize, CUfunction func,
                                                   CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                   size_t dynamicSMemSize, int blockSizeLimit,
                                                   unsigned int flags) {
  if (minGridSize == nullptr || blockSize == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Function* function = nullptr;
  if (CUresult error = find_in_scope(&scope, func, &function)) return error;
  if (CUresult error = scope.need_context()) return error;
  const auto& values = scope.session->devices[static_cast<size_t>(scope.context->device)]->attributes;
  const int warp = std::max(1, values[CU_DEVICE_ATTRIBUTE_WARP_SIZE]);
  int limit = std::min(values[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK],
                       function->attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK].load());
  if (blockSizeLimit > 0) limit = std::min(limit, blockSizeLimit);
  int best_threads = 0;
  *blockSize = 0;
  *minGridSize = 0;
  for (int size = (limit + warp - 1) / warp * warp; size > 0; size -= warp) {
    const int block = std::min(size, limit);
    const size_t shared = blockSizeToDynamicSMemSize ? blockSizeToDynamicSMemSize(block) : dynamicSMemSize;
    int blocks = 0;
    if (CUresult error =
            cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, func, block, shared, flags)) {
      return error;
    }
    if (blocks * block > best_threads) {
      best_threads = blocks * block;
      *blockSize = block;
      *minGridSize = blocks * values[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT];
    }
    if (best_threads == values[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR]) break;
  }
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize, CUfunction func,
                                          CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                          size_t dynamicSMemSize, int blockSizeLimit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func, blockSizeToDynamicSMemSize,
                                                   dynamicSMemSize, blockSizeLimit, CU_OCCUPANCY_DEFAULT);
}

}  // namespace sluice::client::calls
