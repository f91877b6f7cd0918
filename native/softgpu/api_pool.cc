// Allocation in stream order, and the pools it takes from.
#include <unordered_map>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/graph/capture.h"
#include "softgpu/graph/node_params.h"
#include "softgpu/memory.h"
#include "softgpu/pool.h"

namespace sluice::softgpu {
namespace {

std::mutex pools_mutex;
std::unordered_map<Pool*, std::unique_ptr<Pool>>& created_pools() {
  static auto* pools = new std::unordered_map<Pool*, std::unique_ptr<Pool>>;
  return *pools;
}

CUresult find_pool(CUmemoryPool handle, Pool** out) {
  *out = lookup<Pool>(handle);
  return *out == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult find_device(CUdevice ordinal, Device** out) {
  *out = driver()->device(ordinal);
  return *out == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult find_queue(CUstream handle, Context** context, std::shared_ptr<Stream>* queue) {
  if (const auto* own = lookup<Stream>(handle); own != nullptr) {
    *context = own->context.get();
  } else {
    SLUICE_TRY(current_context(context));
  }
  SLUICE_TRY((*context)->error());
  return (*context)->resolve_stream(handle, queue);
}

// The address is given out at once; whatever earlier work still uses is not free yet, so there is no
// conflict.
CUresult allocate_async(CUdeviceptr* out, size_t bytes, Pool* pool, CUstream stream) {
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  std::shared_ptr<Stream> queue;
  SLUICE_TRY(find_queue(stream, &context, &queue));
  CUresult in_graph = CUDA_SUCCESS;
  const auto as_node = [&](Work* work) {
    CUDA_MEM_ALLOC_NODE_PARAMS given{};
    given.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    given.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, context->device.index};
    given.bytesize = bytes;
    SLUICE_TRY(make_alloc_work(given, work));
    *out = given.dptr;
    return CUDA_SUCCESS;
  };
  if (captured(*queue, as_node, &in_graph)) return in_graph;
  if (pool == nullptr) SLUICE_TRY(find_pool(context->device.current_pool, &pool));
  if (pool->max_bytes != 0 && pool->used.load() + bytes > pool->max_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  uint64_t address = 0;
  CUresult result = allocate_device(*context, bytes, MemoryKind::kPool, 0, pool, false, &address);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    // Frees that are queued may make room.
    context->synchronize();
    result = allocate_device(*context, bytes, MemoryKind::kPool, 0, pool, false, &address);
  }
  if (result == CUDA_SUCCESS) *out = address;
  return result;
}

class FreeOperation : public Operation {
 public:
  explicit FreeOperation(uint64_t address) : address_(address) {}
  CUresult run(Stream&) override {
    if (const auto removed = memory_registry().remove(address_)) dispose(*removed);
    return CUDA_SUCCESS;
  }
  bool is_brief() const override { return true; }

 private:
  const uint64_t address_;
};

CUresult free_async(CUdeviceptr address, CUstream stream) {
  Context* context;
  std::shared_ptr<Stream> queue;
  SLUICE_TRY(find_queue(stream, &context, &queue));
  CUresult in_graph = CUDA_SUCCESS;
  const auto as_node = [&](Work* work) { return make_free_work(address, work); };
  if (captured(*queue, as_node, &in_graph)) return in_graph;
  if (const auto memory = GraphMemory::find(address))
    return memory->give_back() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  const auto found = memory_registry().find(address);
  if (!found || found->begin != address || !found->freed_by_caller()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  context->submit(*queue, std::make_unique<FreeOperation>(address));
  return CUDA_SUCCESS;
}

CUresult pool_attribute(Pool& pool, CUmemPool_attribute attribute, void* value, bool set) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto* number = static_cast<uint64_t*>(value);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: {
      auto& flag = pool.reuse_flags[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
      auto* flag_value = static_cast<int*>(value);
      if (set) {
        flag.store(*flag_value);
      } else {
        *flag_value = flag.load();
      }
      return CUDA_SUCCESS;
    }
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      if (set) {
        pool.release_threshold.store(*number);
      } else {
        *number = pool.release_threshold.load();
      }
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      if (set) return CUDA_ERROR_INVALID_VALUE;
      *number = pool.used.load();
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      if (set) {
        if (*number != 0) return CUDA_ERROR_INVALID_VALUE;
        pool.used_high.store(pool.used.load());
      } else {
        *number = pool.used_high.load();
      }
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult default_pool(CUmemoryPool* out, CUdevice ordinal) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device;
  SLUICE_TRY(find_device(ordinal, &device));
  *out = device->default_pool->handle();
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API_PAIR(cuMemAllocAsync, _ptsz, (CUdeviceptr * out, size_t bytes, CUstream stream),
                return allocate_async(out, bytes, nullptr, pick(stream));)
SLUICE_API_PAIR(cuMemAllocFromPoolAsync, _ptsz,
                (CUdeviceptr * out, size_t bytes, CUmemoryPool handle, CUstream stream), Pool* pool;
                SLUICE_TRY(find_pool(handle, &pool)); return allocate_async(out, bytes, pool, pick(stream));)
SLUICE_API_PAIR(cuMemFreeAsync, _ptsz, (CUdeviceptr address, CUstream stream),
                return free_async(address, pick(stream));)

SLUICE_API cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice ordinal) {
  return api([&] { return default_pool(out, ordinal); });
}
SLUICE_API cuDeviceGetMemPool(CUmemoryPool* out, CUdevice ordinal) {
  return api([&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Device* device;
    SLUICE_TRY(find_device(ordinal, &device));
    const std::lock_guard lock(pools_mutex);
    *out = device->current_pool;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool handle) {
  return api([&]() -> CUresult {
    Device* device;
    Pool* pool;
    SLUICE_TRY(find_device(ordinal, &device));
    SLUICE_TRY(find_pool(handle, &pool));
    if (&pool->device != device) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(pools_mutex);
    device->current_pool = handle;
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* properties) {
  return api([&]() -> CUresult {
    if (out == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
    if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    Device* device;
    SLUICE_TRY(find_device(properties->location.id, &device));
    auto created = std::make_unique<Pool>(*device);
    created->max_bytes = properties->maxSize;
    *out = created->handle();
    const std::lock_guard lock(pools_mutex);
    Pool* key = created.get();
    created_pools()[key] = std::move(created);
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuMemPoolDestroy(CUmemoryPool handle) {
  return api([&]() -> CUresult {
    Pool* pool;
    SLUICE_TRY(find_pool(handle, &pool));
    const std::lock_guard lock(pools_mutex);
    const auto at = created_pools().find(pool);
    if (at == created_pools().end()) return CUDA_ERROR_INVALID_VALUE;  // a device's default pool
    if (pool->device.current_pool == handle) pool->device.current_pool = pool->device.default_pool->handle();
    if (pool->used.load() > 0) {
      // Its allocations live on; they count for nobody's pool any more.
      memory_registry().forget_pool(pool);
    }
    created_pools().erase(at);
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuMemPoolTrimTo(CUmemoryPool handle, size_t) {
  return api([&]() -> CUresult {
    Pool* pool;
    return find_pool(handle, &pool);  // nothing is held back
  });
}
SLUICE_API cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return api([&]() -> CUresult {
    Pool* pool;
    SLUICE_TRY(find_pool(handle, &pool));
    return pool_attribute(*pool, attribute, value, false);
  });
}
SLUICE_API cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return api([&]() -> CUresult {
    Pool* pool;
    SLUICE_TRY(find_pool(handle, &pool));
    return pool_attribute(*pool, attribute, value, true);
  });
}
SLUICE_API cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* map, size_t count) {
  return api([&]() -> CUresult {
    if (map == nullptr || count == 0 || count > kMaxDevices) return CUDA_ERROR_INVALID_VALUE;
    Pool* pool;
    SLUICE_TRY(find_pool(handle, &pool));
    for (size_t i = 0; i < count; ++i) {
      if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
      Device* device;
      SLUICE_TRY(find_device(map[i].location.id, &device));
      const uint32_t bit = uint32_t{1} << device->index;
      switch (map[i].flags) {
        case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
          pool->access.fetch_or(bit);
          break;
        case CU_MEM_ACCESS_FLAGS_PROT_NONE:
          if (device == &pool->device) return CUDA_ERROR_INVALID_VALUE;  // the owner's cannot be taken away
          pool->access.fetch_and(~bit);
          memory_registry().changed();
          break;
        default:
          return CUDA_ERROR_INVALID_VALUE;
      }
    }
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation* location) {
  return api([&]() -> CUresult {
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Pool* pool;
    SLUICE_TRY(find_pool(handle, &pool));
    if (location->type == CU_MEM_LOCATION_TYPE_DEVICE && driver()->device(location->id) == nullptr) {
      return CUDA_ERROR_INVALID_DEVICE;
    }
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    const bool own = location->id == pool->device.index;
    const bool granted = (pool->access.load() >> location->id & 1) != 0;
    *flags = own || granted ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
  });
}

namespace sluice::softgpu {

std::span<const Entry> pool_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY_PAIR("cuMemAllocAsync", 11020, cuMemAllocAsync, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemAllocFromPoolAsync", 11020, cuMemAllocFromPoolAsync, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemFreeAsync", 11020, cuMemFreeAsync, _ptsz),
      SLUICE_ENTRY("cuDeviceGetDefaultMemPool", 11020, cuDeviceGetDefaultMemPool),
      SLUICE_ENTRY("cuDeviceGetMemPool", 11020, cuDeviceGetMemPool),
      SLUICE_ENTRY("cuDeviceSetMemPool", 11020, cuDeviceSetMemPool),
      SLUICE_ENTRY("cuMemPoolCreate", 11020, cuMemPoolCreate),
      SLUICE_ENTRY("cuMemPoolDestroy", 11020, cuMemPoolDestroy),
      SLUICE_ENTRY("cuMemPoolTrimTo", 11020, cuMemPoolTrimTo),
      SLUICE_ENTRY("cuMemPoolGetAttribute", 11020, cuMemPoolGetAttribute),
      SLUICE_ENTRY("cuMemPoolSetAttribute", 11020, cuMemPoolSetAttribute),
      SLUICE_ENTRY("cuMemPoolSetAccess", 11020, cuMemPoolSetAccess),
      SLUICE_ENTRY("cuMemPoolGetAccess", 11020, cuMemPoolGetAccess),
  };
  return entries;
}

}  // namespace sluice::softgpu
