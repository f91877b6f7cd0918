// What is known about a pointer.
#include <cstring>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/memory.h"
#include "softgpu/pool.h"
#include "softgpu/virtual_memory.h"

namespace sluice::softgpu {
namespace {

template <typename T>
CUresult write(void* out, T value) {
  std::memcpy(out, &value, sizeof(value));
  return CUDA_SUCCESS;
}

CUresult pointer_attribute(void* out, CUpointer_attribute attribute, uint64_t address,
                           const Allocation& found) {
  const bool has_host_pointer = found.on_host() || found.kind == MemoryKind::kManaged;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return write(out, found.context == nullptr ? nullptr : found.context->handle());
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return write(out, found.on_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return write(out, CUdeviceptr{address});
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!has_host_pointer) return CUDA_ERROR_INVALID_VALUE;
      return write(out, reinterpret_cast<void*>(address));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return write(out, 0u);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return write(out, static_cast<unsigned long long>(found.id));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return write(out, found.kind == MemoryKind::kManaged ? 1u : 0u);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return write(out, found.device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return write(out, 0u);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      if (found.kind == MemoryKind::kMapped) return write(out, CUdeviceptr{reservation_of(address).begin});
      return write(out, CUdeviceptr{found.begin});
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return write(out, CUdeviceptr{found.begin});
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      if (found.kind == MemoryKind::kMapped)
        return write(out, static_cast<size_t>(reservation_of(address).bytes));
      return write(out, static_cast<size_t>(found.bytes));
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return write(out, static_cast<size_t>(found.bytes));
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return write(out, 1u);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return write(out, 0ull);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      if (found.kind == MemoryKind::kMapped && (found.access >> found.device & 1) == 0)
        return write(out, CU_MEM_ACCESS_FLAGS_PROT_NONE);
      return write(out, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return write(out, found.pool == nullptr ? nullptr : found.pool->handle());
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

size_t attribute_bytes(CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return 8;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
      return 16;
    default:
      return 4;
  }
}

CUresult all_attributes(unsigned count, const CUpointer_attribute* attributes, void** data,
                        uint64_t address) {
  if (count == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  const auto found = memory_registry().find(address);
  for (unsigned i = 0; i < count; ++i) {
    const bool known = found && pointer_attribute(data[i], attributes[i], address, *found) == CUDA_SUCCESS;
    if (known) continue;
    // A pointer that the driver does not know is answered with zeros; its device is none.
    std::memset(data[i], 0, attribute_bytes(attributes[i]));
    if (!found && attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) write(data[i], -2);
  }
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuPointerGetAttribute(void* out, CUpointer_attribute attribute, CUdeviceptr address) {
  return api([&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* context;
    SLUICE_TRY(healthy_context(&context));
    const auto found = memory_registry().find(address);
    if (!found) return CUDA_ERROR_INVALID_VALUE;
    return pointer_attribute(out, attribute, address, *found);
  });
}

SLUICE_API cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data,
                                  CUdeviceptr address) {
  return api([&] { return all_attributes(count, attributes, data, address); });
}

// Copies on such memory are always ordered as the one settable attribute, SYNC_MEMOPS, asks for.
SLUICE_API cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  return api([&]() -> CUresult {
    if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
    return memory_registry().find(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

namespace sluice::softgpu {

std::span<const Entry> pointer_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuPointerGetAttribute", 4000, cuPointerGetAttribute),
      SLUICE_ENTRY("cuPointerGetAttributes", 7000, cuPointerGetAttributes),
      SLUICE_ENTRY("cuPointerSetAttribute", 6000, cuPointerSetAttribute),
  };
  return entries;
}

}  // namespace sluice::softgpu
