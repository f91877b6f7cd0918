// Stream-ordered memory and its pools.
#include <cstring>

#include "client/allocate_apart.h"
#include "client/scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

// Attributes of 32 bits; the others have 64.
bool is_narrow(CUmemPool_attribute attribute) {
  return attribute == CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES ||
         attribute == CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC ||
         attribute == CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

CUresult free_there(Scope& scope, CUdeviceptr address, uint32_t stream) {
  wire::AsyncFrame<12> frame(CallId::cuMemFreeAsync);
  frame.put(uint64_t{address});
  frame.put(stream);
  return scope.post(frame);
}

CUresult allocate(CUdeviceptr* dptr, size_t bytes, CUmemoryPool pool, CUstream stream) {
  if (dptr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  uint32_t stream_index = 0;
  uint32_t pool_index = 0;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.resolve(stream, &stream_index)) return error;
  if (CUresult error = scope.need_context()) return error;
  const CUmemoryPool given = pool;
  if (pool == nullptr) {
    if (CUresult error = cuDeviceGetMemPool(&pool, scope.context->device)) return error;
  }
  if (CUresult error = scope.resolve(pool, &pool_index)) return error;
  if (bytes == 0) {
    *dptr = 0;
    return CUDA_SUCCESS;
  }
  const auto ask = [&](CUdeviceptr* address, size_t* wanted) -> CUresult {
    wire::SyncFrame<16> frame(CallId::cuMemAllocFromPoolAsync);
    frame.put(uint64_t{*wanted});
    frame.put(given ? pool_index : uint32_t{0});
    frame.put(stream_index);
    wire::FixedReply<8> reply;
    if (CUresult error = scope.call(frame, reply)) return error;
    *address = reply.get<uint64_t>();
    return reply.complete() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
  };
  if (CUresult error = allocate_apart(scope, dptr, &bytes, ask,
                                      [&](CUdeviceptr unused) { free_there(scope, unused, stream_index); })) {
    return error;
  }
  scope.session->memory.add_device({*dptr, bytes, scope.context, pool, scope.session->next_id.fetch_add(1)});
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  return allocate(dptr, bytesize, nullptr, hStream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream) {
  return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : allocate(dptr, bytesize, pool, hStream);
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
  Scope scope;
  uint32_t stream = 0;
  if (CUresult error = scope.enter()) return error;
  if (dptr == 0) return CUDA_SUCCESS;
  if (CUresult error = scope.resolve(hStream, &stream)) return error;
  if (CUresult error = scope.need_context()) return error;
  if (!scope.session->memory.remove_device(dptr)) return CUDA_ERROR_INVALID_VALUE;
  return free_there(scope, dptr, stream);
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* poolProps) {
  if (pool == nullptr || poolProps == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
    return CUDA_ERROR_NOT_SUPPORTED;  // for other processes
  if (poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  Device* device = scope.session->device(poolProps->location.id);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  Pool* object = nullptr;
  if (scope.session->pools.mint(&object) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  object->device = poolProps->location.id;
  wire::AsyncFrame<16> frame(CallId::cuMemPoolCreate);
  frame.put(object->index);
  frame.put(int32_t{device->ordinal_there});
  frame.put(uint64_t{poolProps->maxSize});
  if (CUresult error = device->channel->post(0, frame.data(), frame.size())) return error;
  *pool = static_cast<CUmemoryPool>(object->handle);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  uint32_t index = 0;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.resolve(pool, &index)) return error;
  uint64_t number = 0;
  std::memcpy(&number, value, is_narrow(attr) ? sizeof(int) : sizeof number);
  wire::AsyncFrame<16> frame(CallId::cuMemPoolSetAttribute);
  frame.put(index);
  frame.put(static_cast<int32_t>(attr));
  frame.put(number);
  const Device* device = scope.session->device(scope.session->pools.find(pool)->device);
  return device->channel->post(0, frame.data(), frame.size());
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  uint32_t index = 0;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.resolve(pool, &index)) return error;
  wire::SyncFrame<8> frame(CallId::cuMemPoolGetAttribute);
  frame.put(index);
  frame.put(static_cast<int32_t>(attr));
  uint64_t number = 0;
  Reply reply{&number, sizeof number};
  const Device* device = scope.session->device(scope.session->pools.find(pool)->device);
  if (CUresult error = device->channel->call(0, frame.data(), frame.size(), &reply)) return error;
  if (reply.received != sizeof number) return CUDA_ERROR_UNKNOWN;
  std::memcpy(value, &number, is_narrow(attr) ? sizeof(int) : sizeof number);
  return CUDA_SUCCESS;
}

// The owning device always has access and no other one ever does.
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  if (map == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  const Pool* object = scope.session->pools.find(pool);
  if (object == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; i++) {
    const bool own =
        map[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && map[i].location.id == object->device;
    if (own && map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return CUDA_ERROR_INVALID_DEVICE;
    if (!own && map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) return CUDA_ERROR_INVALID_DEVICE;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool memPool, CUmemLocation* location) {
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  const Pool* object = scope.session->pools.find(memPool);
  if (object == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool own = location->type == CU_MEM_LOCATION_TYPE_DEVICE && location->id == object->device;
  *flags = own ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

// Pools by location: those of devices. Memory of the host that a GPU uses would be of the worker's host.
namespace {

CUresult pool_location(const CUmemLocation* location, CUmemAllocationType type) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (type) {
    case CU_MEM_ALLOCATION_TYPE_PINNED:
      break;
    case CU_MEM_ALLOCATION_TYPE_MANAGED:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  switch (location->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool_out, CUmemLocation* location, CUmemAllocationType type) {
  if (CUresult error = pool_location(location, type)) return error;
  return cuDeviceGetDefaultMemPool(pool_out, location->id);
}

CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  if (CUresult error = pool_location(location, type)) return error;
  return cuDeviceGetMemPool(pool, location->id);
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  if (CUresult error = pool_location(location, type)) return error;
  return cuDeviceSetMemPool(location->id, pool);
}

}  // namespace sluice::client::calls
