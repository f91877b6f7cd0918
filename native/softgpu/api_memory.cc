// Device memory: allocation, release (of managed memory too), what there is.
#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/graph/capture.h"
#include "softgpu/managed.h"
#include "softgpu/memory.h"

namespace sluice::softgpu {
namespace {

constexpr size_t kPitchAlignment = 512;  // CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT

CUresult allocate(CUdeviceptr* out, size_t bytes, MemoryKind kind, unsigned flags) {
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  SLUICE_TRY(refuse_unsafe_call());
  uint64_t address = 0;
  SLUICE_TRY(allocate_device(*context, bytes, kind, flags, nullptr, false, &address));
  *out = address;
  return CUDA_SUCCESS;
}

CUresult free_memory(CUdeviceptr address) {
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  // cudaFree(nullptr) frees nothing and arrives here; libraries start a context with it.
  if (address == 0) return CUDA_SUCCESS;
  SLUICE_TRY(refuse_unsafe_call());
  if (const auto memory = GraphMemory::find(address)) {
    context->synchronize();
    return memory->give_back() ? context->error() : CUDA_ERROR_INVALID_VALUE;
  }
  const auto found = memory_registry().find(address);
  if (!found || found->begin != address || !found->freed_by_caller()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Work that was queued before may still use it.
  context->synchronize();
  if (found->context != context) found->context->synchronize();
  const auto removed = memory_registry().remove(address);
  if (!removed) return CUDA_ERROR_INVALID_VALUE;
  if (removed->kind == MemoryKind::kManaged) managed_advice().forget(removed->begin, removed->bytes);
  dispose(*removed);
  return context->error();
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  return api([&] { return allocate(out, bytes, MemoryKind::kDevice, 0); });
}

SLUICE_API cuMemAllocPitch_v2(CUdeviceptr* out, size_t* pitch, size_t width, size_t height,
                              unsigned element) {
  return api([&]() -> CUresult {
    if (pitch == nullptr || width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
    if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
    const size_t rounded = round_up(width, kPitchAlignment);
    size_t bytes;
    if (rounded < width || __builtin_mul_overflow(rounded, height, &bytes)) return CUDA_ERROR_INVALID_VALUE;
    SLUICE_TRY(allocate(out, bytes, MemoryKind::kDevice, 0));
    *pitch = rounded;
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuMemFree_v2(CUdeviceptr address) {
  return api([&] { return free_memory(address); });
}

SLUICE_API cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  return api([&]() -> CUresult {
    Context* context;
    SLUICE_TRY(healthy_context(&context));
    const uint64_t total = context->device.config.memory_bytes;
    const uint64_t used = driver()->shared->used_bytes(context->device.index);
    if (free_bytes != nullptr) *free_bytes = used < total ? total - used : 0;
    if (total_bytes != nullptr) *total_bytes = total;
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuMemGetAddressRange_v2(CUdeviceptr* begin, size_t* bytes, CUdeviceptr address) {
  return api([&]() -> CUresult {
    Context* context;
    SLUICE_TRY(healthy_context(&context));
    const auto found = memory_registry().find(address);
    if (!found || !context->accessible(*found)) return CUDA_ERROR_NOT_FOUND;
    if (begin != nullptr) *begin = found->begin;
    if (bytes != nullptr) *bytes = found->bytes;
    return CUDA_SUCCESS;
  });
}

namespace sluice::softgpu {

std::span<const Entry> memory_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuMemAlloc", 3020, cuMemAlloc_v2),
      SLUICE_ENTRY("cuMemAllocPitch", 3020, cuMemAllocPitch_v2),
      SLUICE_ENTRY("cuMemFree", 3020, cuMemFree_v2),
      SLUICE_ENTRY("cuMemGetInfo", 3020, cuMemGetInfo_v2),
      SLUICE_ENTRY("cuMemGetAddressRange", 3020, cuMemGetAddressRange_v2),
  };
  return entries;
}

}  // namespace sluice::softgpu
