// Contexts: primary and created ones, the calling thread's stack, limits and settings.
#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/event.h"
#include "softgpu/graph/capture.h"

namespace sluice::softgpu {
namespace {

constexpr int kLowestPriority = 0;
constexpr int kHighestPriority = -5;

CUresult find_device(CUdevice ordinal, Device** out) {
  *out = driver()->device(ordinal);
  return *out == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

// Null means the current context.
CUresult find_context(CUcontext handle, Context** out) {
  if (handle == nullptr) return current_context(out);
  *out = lookup<Context>(handle);
  if (*out == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return (*out)->is_active() ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

bool valid_flags(unsigned flags) {
  const unsigned policy = flags & CU_CTX_SCHED_MASK;
  const bool one_policy = policy == CU_CTX_SCHED_AUTO || policy == CU_CTX_SCHED_SPIN ||
                          policy == CU_CTX_SCHED_YIELD || policy == CU_CTX_SCHED_BLOCKING_SYNC;
  return one_policy && (flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) == 0;
}

// Contexts that cuCtxCreate made; primary ones belong to their device.
std::mutex created_mutex;
std::unordered_map<CUcontext, std::shared_ptr<Context>>& created_contexts() {
  static auto* contexts = new std::unordered_map<CUcontext, std::shared_ptr<Context>>;
  return *contexts;
}

CUresult create_context(CUcontext* out, unsigned flags, CUdevice ordinal, unsigned api_version) {
  if (out == nullptr || !valid_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
  Device* device;
  SLUICE_TRY(find_device(ordinal, &device));
  auto created = std::make_shared<Context>(*device, false, flags);
  created->activate(flags);
  created->api_version = api_version;
  SLUICE_TRY(push_context(created->handle()));
  *out = created->handle();
  const std::lock_guard lock(created_mutex);
  created_contexts()[created->handle()] = std::move(created);
  return CUDA_SUCCESS;
}

CUresult destroy_context(CUcontext handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto* found = lookup<Context>(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (found->is_primary) return CUDA_ERROR_INVALID_CONTEXT;
  std::shared_ptr<Context> context;
  {
    const std::lock_guard lock(created_mutex);
    const auto at = created_contexts().find(handle);
    if (at == created_contexts().end()) return CUDA_ERROR_INVALID_CONTEXT;
    context = std::move(at->second);
    created_contexts().erase(at);
  }
  context->deactivate();
  if (top_context() == handle) pop_context();
  return CUDA_SUCCESS;
}

CUresult release_primary(CUdevice ordinal) {
  Device* device;
  SLUICE_TRY(find_device(ordinal, &device));
  const std::lock_guard lock(device->primary_mutex);
  if (device->primary_references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--device->primary_references == 0) device->primary->deactivate();
  return CUDA_SUCCESS;
}

// Everything in the context goes away; whoever retained it still has to release it.
CUresult reset_primary(CUdevice ordinal) {
  Device* device;
  SLUICE_TRY(find_device(ordinal, &device));
  const std::lock_guard lock(device->primary_mutex);
  if (device->primary_references == 0) return CUDA_SUCCESS;
  device->primary->deactivate();
  device->primary->activate(device->primary_flags);
  return CUDA_SUCCESS;
}

CUresult set_primary_flags(CUdevice ordinal, unsigned flags) {
  Device* device;
  SLUICE_TRY(find_device(ordinal, &device));
  if (!valid_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(device->primary_mutex);
  device->primary_flags = flags;
  if (device->primary && device->primary->is_active()) device->primary->flags.store(flags);
  return CUDA_SUCCESS;
}

CUresult context_device(CUdevice* out, CUcontext handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  SLUICE_TRY(find_context(handle, &context));
  *out = context->device.index;
  return CUDA_SUCCESS;
}

CUresult synchronize_context(CUcontext handle) {
  Context* context;
  SLUICE_TRY(find_context(handle, &context));
  SLUICE_TRY(refuse_while_context_captures(*context));
  context->synchronize();
  return context->error();
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice ordinal) {
  return api([&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Device* device;
    SLUICE_TRY(find_device(ordinal, &device));
    std::shared_ptr<Context> primary;
    SLUICE_TRY(retain_primary(*device, &primary, true));
    *out = primary->handle();
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
  return api([&] { return release_primary(ordinal); });
}
SLUICE_API cuDevicePrimaryCtxRelease(CUdevice ordinal) {
  return api([&] { return release_primary(ordinal); });
}
SLUICE_API cuDevicePrimaryCtxReset_v2(CUdevice ordinal) {
  return api([&] { return reset_primary(ordinal); });
}
SLUICE_API cuDevicePrimaryCtxReset(CUdevice ordinal) {
  return api([&] { return reset_primary(ordinal); });
}
SLUICE_API cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags) {
  return api([&] { return set_primary_flags(ordinal, flags); });
}
SLUICE_API cuDevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned flags) {
  return api([&] { return set_primary_flags(ordinal, flags); });
}
SLUICE_API cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned* flags, int* active) {
  return api([&]() -> CUresult {
    if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Device* device;
    SLUICE_TRY(find_device(ordinal, &device));
    const std::lock_guard lock(device->primary_mutex);
    *flags = device->primary_flags;
    *active = device->primary && device->primary->is_active() ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuCtxCreate_v2(CUcontext* out, unsigned flags, CUdevice ordinal) {
  return api([&] { return create_context(out, flags, ordinal, 3020); });
}
// Execution affinity and further creation parameters partition a device, which this one does not do.
SLUICE_API cuCtxCreate_v3(CUcontext* out, void*, int affinities, unsigned flags, CUdevice ordinal) {
  return api([&]() -> CUresult {
    if (affinities != 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return create_context(out, flags, ordinal, 3020);
  });
}
SLUICE_API cuCtxCreate_v4(CUcontext* out, void* parameters, unsigned flags, CUdevice ordinal) {
  return api([&]() -> CUresult {
    // The structure begins with a list of affinities, its length, and a graphics-sharing request.
    struct Parameters {
      void* affinities;
      int affinity_count;
      void* sharing;
    };
    if (const auto* given = static_cast<const Parameters*>(parameters); given != nullptr) {
      if (given->affinity_count != 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
      if (given->sharing != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    }
    return create_context(out, flags, ordinal, 3020);
  });
}
SLUICE_API cuCtxDestroy_v2(CUcontext handle) {
  return api([&] { return destroy_context(handle); });
}

SLUICE_API cuCtxPushCurrent_v2(CUcontext handle) {
  return api([&]() -> CUresult {
    if (handle == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (lookup<Context>(handle) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return push_context(handle);
  });
}
SLUICE_API cuCtxPopCurrent_v2(CUcontext* out) {
  return api([&]() -> CUresult {
    if (top_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const CUcontext popped = pop_context();
    if (out != nullptr) *out = popped;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuCtxSetCurrent(CUcontext handle) {
  return api([&]() -> CUresult {
    if (handle != nullptr && lookup<Context>(handle) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return replace_top_context(handle);
  });
}
SLUICE_API cuCtxGetCurrent(CUcontext* out) {
  return api([&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = top_context();
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuCtxGetDevice(CUdevice* out) {
  return api([&] { return context_device(out, nullptr); });
}
SLUICE_API cuCtxGetDevice_v2(CUdevice* out, CUcontext handle) {
  return api([&] { return context_device(out, handle); });
}
SLUICE_API cuCtxSynchronize() {
  return api([&] { return synchronize_context(nullptr); });
}
SLUICE_API cuCtxSynchronize_v2(CUcontext handle) {
  return api([&] { return synchronize_context(handle); });
}

SLUICE_API cuCtxGetApiVersion(CUcontext handle, unsigned* version) {
  return api([&]() -> CUresult {
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* context;
    SLUICE_TRY(find_context(handle, &context));
    *version = context->api_version;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuCtxGetId(CUcontext handle, unsigned long long* id) {
  return api([&]() -> CUresult {
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* context;
    SLUICE_TRY(find_context(handle, &context));
    *id = context->id;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuCtxGetFlags(unsigned* flags) {
  return api([&]() -> CUresult {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* context;
    SLUICE_TRY(current_context(&context));
    *flags = context->flags.load();
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuCtxSetFlags(unsigned flags) {
  return api([&]() -> CUresult {
    if (!valid_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
    Context* context;
    SLUICE_TRY(current_context(&context));
    context->flags.store(flags);
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuCtxGetLimit(size_t* value, CUlimit limit) {
  return api([&]() -> CUresult {
    if (value == nullptr || limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_INVALID_VALUE;
    Context* context;
    SLUICE_TRY(current_context(&context));
    if (limit >= CU_LIMIT_SHMEM_SIZE) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = context->limits[limit].load();
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuCtxSetLimit(CUlimit limit, size_t value) {
  return api([&]() -> CUresult {
    if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_INVALID_VALUE;
    Context* context;
    SLUICE_TRY(current_context(&context));
    constexpr size_t kMaxStackBytes = 512 * 1024;  // per thread, as real devices limit it
    if (limit >= CU_LIMIT_SHMEM_SIZE) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    // Device-side launches do not exist here, on real devices of this capability neither of these limits
    // does.
    if (limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    if (limit == CU_LIMIT_STACK_SIZE && value > kMaxStackBytes) return CUDA_ERROR_INVALID_VALUE;
    if (limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE) value = 0;  // nothing can be set aside
    if (limit == CU_LIMIT_STACK_SIZE) value = round_up(value, 16);
    context->limits[limit].store(value);
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuCtxResetPersistingL2Cache() {
  return api([&]() -> CUresult {
    Context* context;
    return current_context(&context);
  });
}

SLUICE_API cuCtxGetCacheConfig(CUfunc_cache* value) {
  return api([&]() -> CUresult {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* context;
    SLUICE_TRY(current_context(&context));
    *value = static_cast<CUfunc_cache>(context->cache_config.load());
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuCtxSetCacheConfig(CUfunc_cache value) {
  return api([&]() -> CUresult {
    if (value < CU_FUNC_CACHE_PREFER_NONE || value > CU_FUNC_CACHE_PREFER_EQUAL)
      return CUDA_ERROR_INVALID_VALUE;
    Context* context;
    SLUICE_TRY(current_context(&context));
    context->cache_config.store(value);
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuCtxGetSharedMemConfig(CUsharedconfig* value) {
  return api([&]() -> CUresult {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* context;
    SLUICE_TRY(current_context(&context));
    *value = static_cast<CUsharedconfig>(context->shared_config.load());
    return CUDA_SUCCESS;
  });
}
// Banks of four bytes are the only ones that devices since compute capability 5.0 have.
SLUICE_API cuCtxSetSharedMemConfig(CUsharedconfig value) {
  return api([&]() -> CUresult {
    if (value < CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE || value > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    Context* context;
    return current_context(&context);
  });
}
SLUICE_API cuCtxGetStreamPriorityRange(int* lowest, int* highest) {
  return api([&]() -> CUresult {
    Context* context;
    SLUICE_TRY(current_context(&context));
    if (lowest != nullptr) *lowest = kLowestPriority;
    if (highest != nullptr) *highest = kHighestPriority;
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuCtxEnablePeerAccess(CUcontext peer_handle, unsigned flags) {
  return api([&]() -> CUresult {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    Context *context, *peer;
    SLUICE_TRY(healthy_context(&context));
    if (peer_handle == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    SLUICE_TRY(find_context(peer_handle, &peer));
    if (&peer->device == &context->device) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    return context->set_peer(peer, true) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  });
}
SLUICE_API cuCtxDisablePeerAccess(CUcontext peer_handle) {
  return api([&]() -> CUresult {
    Context *context, *peer;
    SLUICE_TRY(healthy_context(&context));
    if (peer_handle == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    SLUICE_TRY(find_context(peer_handle, &peer));
    return context->set_peer(peer, false) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  });
}

namespace sluice::softgpu {

std::span<const Entry> context_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuDevicePrimaryCtxRetain", 7000, cuDevicePrimaryCtxRetain),
      SLUICE_ENTRY("cuDevicePrimaryCtxRelease", 7000, cuDevicePrimaryCtxRelease),
      SLUICE_ENTRY("cuDevicePrimaryCtxRelease", 11000, cuDevicePrimaryCtxRelease_v2),
      SLUICE_ENTRY("cuDevicePrimaryCtxReset", 7000, cuDevicePrimaryCtxReset),
      SLUICE_ENTRY("cuDevicePrimaryCtxReset", 11000, cuDevicePrimaryCtxReset_v2),
      SLUICE_ENTRY("cuDevicePrimaryCtxSetFlags", 7000, cuDevicePrimaryCtxSetFlags),
      SLUICE_ENTRY("cuDevicePrimaryCtxSetFlags", 11000, cuDevicePrimaryCtxSetFlags_v2),
      SLUICE_ENTRY("cuDevicePrimaryCtxGetState", 7000, cuDevicePrimaryCtxGetState),
      SLUICE_ENTRY("cuCtxCreate", 3020, cuCtxCreate_v2),
      SLUICE_ENTRY("cuCtxCreate", 11040, cuCtxCreate_v3),
      SLUICE_ENTRY("cuCtxCreate", 12050, cuCtxCreate_v4),
      SLUICE_ENTRY("cuCtxDestroy", 4000, cuCtxDestroy_v2),
      SLUICE_ENTRY("cuCtxPushCurrent", 4000, cuCtxPushCurrent_v2),
      SLUICE_ENTRY("cuCtxPopCurrent", 4000, cuCtxPopCurrent_v2),
      SLUICE_ENTRY("cuCtxSetCurrent", 4000, cuCtxSetCurrent),
      SLUICE_ENTRY("cuCtxGetCurrent", 4000, cuCtxGetCurrent),
      SLUICE_ENTRY("cuCtxGetDevice", 2000, cuCtxGetDevice),
      SLUICE_ENTRY("cuCtxGetDevice", 13000, cuCtxGetDevice_v2),
      SLUICE_ENTRY("cuCtxSynchronize", 2000, cuCtxSynchronize),
      SLUICE_ENTRY("cuCtxSynchronize", 13000, cuCtxSynchronize_v2),
      SLUICE_ENTRY("cuCtxGetApiVersion", 3020, cuCtxGetApiVersion),
      SLUICE_ENTRY("cuCtxGetId", 12000, cuCtxGetId),
      SLUICE_ENTRY("cuCtxGetFlags", 7000, cuCtxGetFlags),
      SLUICE_ENTRY("cuCtxSetFlags", 12010, cuCtxSetFlags),
      SLUICE_ENTRY("cuCtxGetLimit", 3010, cuCtxGetLimit),
      SLUICE_ENTRY("cuCtxSetLimit", 3010, cuCtxSetLimit),
      SLUICE_ENTRY("cuCtxResetPersistingL2Cache", 11000, cuCtxResetPersistingL2Cache),
      SLUICE_ENTRY("cuCtxGetCacheConfig", 3020, cuCtxGetCacheConfig),
      SLUICE_ENTRY("cuCtxSetCacheConfig", 3020, cuCtxSetCacheConfig),
      SLUICE_ENTRY("cuCtxGetSharedMemConfig", 4020, cuCtxGetSharedMemConfig),
      SLUICE_ENTRY("cuCtxSetSharedMemConfig", 4020, cuCtxSetSharedMemConfig),
      SLUICE_ENTRY("cuCtxGetStreamPriorityRange", 5050, cuCtxGetStreamPriorityRange),
      SLUICE_ENTRY("cuCtxEnablePeerAccess", 4000, cuCtxEnablePeerAccess),
      SLUICE_ENTRY("cuCtxDisablePeerAccess", 4000, cuCtxDisablePeerAccess),
  };
  return entries;
}

}  // namespace sluice::softgpu
