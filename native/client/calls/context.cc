// Contexts: stacks live here; the worker follows with one frame when the context of the calls changes.
#include <algorithm>

#include "client/contract_host.h"
#include "client/scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

// Posts a frame whose one or two arguments say which device and context it is about.
template <typename... Arguments>
CUresult tell(Channel* channel, CallId call, Arguments... arguments) {
  wire::AsyncFrame<(sizeof(Arguments) + ...)> frame(call);
  (frame.put(arguments), ...);
  return channel->post(0, frame.data(), frame.size());
}

// Everything minted in the context is dead from here on.
void end_context(Session* session, Context* context) {
  context->active.store(false, std::memory_order_release);
  context->epoch.fetch_add(1, std::memory_order_acq_rel);
  context->sticky.store(CUDA_SUCCESS);
  context->after_task.store(0);
  session->memory.remove_context(context);
  contract_context_ended(context);
}

CUresult find_context(const Scope& scope, CUcontext handle, Context** context) {
  *context = handle == nullptr ? scope.context : scope.session->contexts.find(handle);
  return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

// The scope of a call that needs a current context.
CUresult enter_current(Scope* scope) {
  if (CUresult error = scope->enter()) return error;
  return scope->need_context();
}

}  // namespace

CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  Device* device = scope.session->device(dev);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (CUresult gone = device->channel->state()) return gone;
  const std::lock_guard lock(device->mutex);
  if (!device->primary->active.load()) {
    if (CUresult error = tell(device->channel, CallId::cuDevicePrimaryCtxRetain,
                              int32_t{device->ordinal_there}, device->primary->index)) {
      return error;
    }
    device->primary->flags.store(device->primary_flags);
    device->primary->active.store(true, std::memory_order_release);
  }
  device->primary_references++;
  *pctx = static_cast<CUcontext>(device->primary->handle);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  Device* device = scope.session->device(dev);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard lock(device->mutex);
  if (device->primary_references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--device->primary_references > 0) return CUDA_SUCCESS;
  tell(device->channel, CallId::cuDevicePrimaryCtxRelease_v2, int32_t{device->ordinal_there},
       device->primary->index);
  end_context(scope.session, device->primary);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  Device* device = scope.session->device(dev);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard lock(device->mutex);
  if (!device->primary->active.load()) return CUDA_SUCCESS;
  tell(device->channel, CallId::cuDevicePrimaryCtxReset_v2, int32_t{device->ordinal_there},
       device->primary->index);
  end_context(scope.session, device->primary);
  device->primary_references = 0;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  Device* device = scope.session->device(dev);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if ((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(device->mutex);
  device->primary_flags = flags;
  device->primary->flags.store(flags);
  return tell(device->channel, CallId::cuDevicePrimaryCtxSetFlags_v2, int32_t{device->ordinal_there}, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int* flags, int* active) {
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  Device* device = scope.session->device(dev);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard lock(device->mutex);
  *flags = device->primary_flags;
  *active = device->primary->active.load() ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext* pctx, unsigned int flags, CUdevice dev) {
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  Device* device = scope.session->device(dev);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if ((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0) return CUDA_ERROR_INVALID_VALUE;
  Context* context = nullptr;
  if (scope.session->contexts.mint(&context) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  context->device = dev;
  context->channel = device->channel;
  context->flags.store(flags);
  context->id = scope.session->next_id.fetch_add(1);
  if (CUresult error = tell(device->channel, CallId::cuCtxCreate_v2, context->index, flags,
                            int32_t{device->ordinal_there})) {
    scope.session->contexts.release(context);
    return error;
  }
  context->active.store(true, std::memory_order_release);
  scope.thread->stack.push_back(context);
  *pctx = static_cast<CUcontext>(context->handle);
  return CUDA_SUCCESS;
}

// Execution affinity is the multi-process service's, of which a remote program is no client: no device here
// supports it.
CUresult cuCtxCreate_v3(CUcontext* pctx, CUexecAffinityParam* params, int numParams, unsigned int flags,
                        CUdevice dev) {
  if (numParams < 0 || (numParams > 0 && params == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  return numParams == 0 ? cuCtxCreate_v2(pctx, flags, dev) : CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}

CUresult cuCtxCreate_v4(CUcontext* pctx, CUctxCreateParams* params, unsigned int flags, CUdevice dev) {
  if (params != nullptr && params->numExecAffinityParams != 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  // The graphics interface is on another machine than the GPU.
  if (params != nullptr && params->cigParams != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  return cuCtxCreate_v2(pctx, flags, dev);
}

CUresult cuCtxGetExecAffinity(CUexecAffinityParam* affinity, CUexecAffinityType type) {
  if (affinity == nullptr || type < 0 || type >= CU_EXEC_AFFINITY_TYPE_MAX) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = enter_current(&scope)) return error;
  return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}

CUresult cuCtxDestroy_v2(CUcontext ctx) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  Context* context = scope.session->contexts.find(ctx);
  if (context == nullptr || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
  tell(context->channel, CallId::cuCtxDestroy_v2, context->index);
  end_context(scope.session, context);
  if (scope.context == context) scope.thread->stack.pop_back();
  scope.session->contexts.release(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxAttach(CUcontext* pctx, unsigned int flags) {
  if (pctx == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return cuCtxGetCurrent(pctx);
}

CUresult cuCtxDetach(CUcontext ctx) { return cuCtxDestroy_v2(ctx); }

CUresult cuCtxPushCurrent_v2(CUcontext ctx) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  Context* context = scope.session->contexts.find(ctx);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  scope.thread->stack.push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext* pctx) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (scope.context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  scope.thread->stack.pop_back();
  if (pctx != nullptr) *pctx = static_cast<CUcontext>(scope.context->handle);
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  auto& stack = scope.thread->stack;
  if (ctx == nullptr) {
    if (!stack.empty()) stack.pop_back();
    return CUDA_SUCCESS;
  }
  Context* context = scope.session->contexts.find(ctx);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (stack.empty()) {
    stack.push_back(context);
  } else {
    stack.back() = context;
  }
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* pctx) {
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pctx = nullptr;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (scope.context != nullptr) *pctx = static_cast<CUcontext>(scope.context->handle);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext ctx) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Context* context = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = find_context(scope, ctx, &context)) return error;
  *device = context->device;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) { return cuCtxGetDevice_v2(device, nullptr); }

CUresult cuCtxGetFlags(unsigned int* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = enter_current(&scope)) return error;
  *flags = scope.context->flags.load();
  return CUDA_SUCCESS;
}

// The flags say how a thread waits for the GPU, which this library decides by itself.
CUresult cuCtxSetFlags(unsigned int flags) {
  Scope scope;
  if (CUresult error = enter_current(&scope)) return error;
  if ((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0) return CUDA_ERROR_INVALID_VALUE;
  scope.context->flags.store(flags);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long* ctxId) {
  if (ctxId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Context* context = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = find_context(scope, ctx, &context)) return error;
  *ctxId = context->id;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Context* context = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = find_context(scope, ctx, &context)) return error;
  *version = 3020;  // the interface with 64-bit addresses, as drivers report it
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  Scope scope;
  if (CUresult error = enter_current(&scope)) return error;
  const Device& device = *scope.session->devices[static_cast<size_t>(scope.context->device)];
  if (leastPriority != nullptr) *leastPriority = 0;
  if (greatestPriority != nullptr) *greatestPriority = device.greatest_priority;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize_v2(CUcontext ctx) {
  if (ctx == nullptr) return cuCtxSynchronize();
  if (CUresult error = cuCtxPushCurrent_v2(ctx)) return error;
  const CUresult result = cuCtxSynchronize();
  cuCtxPopCurrent_v2(nullptr);
  return result;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* pconfig) {
  if (pconfig == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = enter_current(&scope)) return error;
  *pconfig = static_cast<CUfunc_cache>(scope.context->cache_config.load());
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  Scope scope;
  if (CUresult error = enter_current(&scope)) return error;
  if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL)
    return CUDA_ERROR_INVALID_VALUE;
  scope.context->cache_config.store(config);
  wire::AsyncFrame<4> frame(CallId::cuCtxSetCacheConfig);
  frame.put(static_cast<int32_t>(config));
  return scope.post(frame);
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig* pConfig) {
  if (pConfig == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = enter_current(&scope)) return error;
  *pConfig = static_cast<CUsharedconfig>(scope.context->shared_config.load());
  return CUDA_SUCCESS;
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
  Scope scope;
  if (CUresult error = enter_current(&scope)) return error;
  if (config < CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE || config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  scope.context->shared_config.store(config);
  wire::AsyncFrame<4> frame(CallId::cuCtxSetSharedMemConfig);
  frame.put(static_cast<int32_t>(config));
  return scope.post(frame);
}

}  // namespace sluice::client::calls
