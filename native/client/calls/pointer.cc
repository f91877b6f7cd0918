// What is known about a pointer.
#include "client/coherence.h"
#include "client/scope.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {
namespace {

template <typename T>
CUresult give(void* data, T value) {
  *static_cast<T*>(data) = value;
  return CUDA_SUCCESS;
}

CUresult of_device_memory(const DeviceRange& range, CUpointer_attribute attribute, CUdeviceptr ptr,
                          void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return give(data, static_cast<CUcontext>(range.pool || range.mapped ? nullptr : range.context->handle));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return give(data, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return give(data, ptr);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return range.managed ? give(data, reinterpret_cast<void*>(ptr)) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return give(data, 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return give(data, static_cast<unsigned long long>(range.id));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return give(data, range.managed ? 1u : 0u);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return give(data, range.context->device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return give(data, range.base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return give(data, range.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return give(data, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return give(data, 0ull);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return give(data, static_cast<int>(CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return give(data, range.pool);
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return give(data, static_cast<unsigned long long>(range.id));
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult of_host_memory(const HostRange& range, CUpointer_attribute attribute, CUdeviceptr ptr, void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return give(data, static_cast<CUcontext>(range.context->handle));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return give(data, static_cast<unsigned>(CU_MEMORYTYPE_HOST));
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return give(data, reinterpret_cast<void*>(ptr));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return give(data, static_cast<unsigned long long>(range.id));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return give(data, 0u);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return give(data, range.context->device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return give(data, static_cast<CUdeviceptr>(range.base));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return give(data, range.bytes);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return give(data, 0);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return give(data, Coherence::instance().find(reinterpret_cast<void*>(ptr)) ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: {
      const auto shared = Coherence::instance().find(reinterpret_cast<void*>(ptr));
      return shared ? give(data, shared->device + (ptr - shared->host)) : CUDA_ERROR_INVALID_VALUE;
    }
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return give(data, static_cast<CUmemoryPool>(nullptr));
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// Memory that cuMemMap put there; its range is the reservation.
CUresult of_mapped_memory(const Session& session, const Mapping& mapping, CUpointer_attribute attribute,
                          CUdeviceptr ptr, void* data) {
  const int device = mapping.memory->device;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: {
      const auto reservation = session.virtual_memory.reservation_of(mapping.base, mapping.bytes);
      if (!reservation) return CUDA_ERROR_INVALID_VALUE;
      return attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE ? give(data, reservation->bytes)
                                                          : give(data, reservation->base);
    }
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: {
      const auto known = mapping.access.find(device);
      return give(data, static_cast<int>(known == mapping.access.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE
                                                                       : known->second));
    }
    default:
      return of_device_memory(
          {mapping.base, mapping.bytes, session.devices[static_cast<size_t>(device)]->primary, nullptr,
           mapping.id, true},
          attribute, ptr, data);
  }
}

// What the plural form writes for memory that CUDA does not know.
CUresult of_unknown_memory(CUpointer_attribute attribute, CUdeviceptr ptr, void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return give(data, static_cast<CUcontext>(nullptr));
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return give(data, reinterpret_cast<void*>(ptr));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return give(data, -2);  // no device, as drivers report it
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return give(data, 0ull);
    default:
      return give(data, 0u);
  }
}

}  // namespace

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (const auto mapping = scope.session->virtual_memory.mapping_of(ptr)) {
    return of_mapped_memory(*scope.session, *mapping, attribute, ptr, data);
  }
  if (const auto range = scope.session->memory.device_range(ptr)) {
    return of_device_memory(*range, attribute, ptr, data);
  }
  if (const auto range = scope.session->memory.host_range(reinterpret_cast<void*>(ptr))) {
    return of_host_memory(*range, attribute, ptr, data);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr ptr) {
  if (attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  for (unsigned i = 0; i < numAttributes; i++) {
    if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (cuPointerGetAttribute(data[i], attributes[i], ptr) != CUDA_SUCCESS) {
      of_unknown_memory(attributes[i], ptr, data[i]);
    }
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr ptr) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  // Copies that involve the memory are to be synchronous: they are, as far as the caller can see.
  if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
  return scope.session->memory.device_range(ptr) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace sluice::client::calls
