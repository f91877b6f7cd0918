// Device and managed memory: allocation, release, what there is.
#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/graph/capture.h"
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
  dispose(*removed);
  return context->error();
}

CUresult advise(CUdeviceptr address, size_t bytes, CUmem_advise advice) {
  if (bytes == 0 || advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  const auto found = memory_registry().find(address);
  if (!found || found->kind != MemoryKind::kManaged) return CUDA_ERROR_INVALID_VALUE;
  return check_range(*context, address, bytes);
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

// The host reads and writes device addresses as they are, so managed memory needs no migration.
SLUICE_API cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned flags) {
  return api([&]() -> CUresult {
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
    return allocate(out, bytes, MemoryKind::kManaged, flags);
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

SLUICE_API cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice) {
  return api([&] { return advise(address, bytes, advice); });
}
SLUICE_API cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation) {
  return api([&] { return advise(address, bytes, advice); });
}

// Memory is in reach of host and devices wherever it is: there is nothing to move.
SLUICE_API_PAIR(cuMemPrefetchAsync, _ptsz, (CUdeviceptr address, size_t bytes, CUdevice, CUstream stream),
                Context* context;
                SLUICE_TRY(healthy_context(&context)); std::shared_ptr<Stream> queue;
                SLUICE_TRY(context->resolve_stream(pick(stream), &queue));
                return check_range(*context, address, bytes);)
SLUICE_API_PAIR(cuMemPrefetchAsync_v2, _ptsz,
                (CUdeviceptr address, size_t bytes, CUmemLocation, unsigned flags, CUstream stream),
                if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
                Context * context; SLUICE_TRY(healthy_context(&context)); std::shared_ptr<Stream> queue;
                SLUICE_TRY(context->resolve_stream(pick(stream), &queue));
                return check_range(*context, address, bytes);)

namespace sluice::softgpu {

std::span<const Entry> memory_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuMemAlloc", 3020, cuMemAlloc_v2),
      SLUICE_ENTRY("cuMemAllocPitch", 3020, cuMemAllocPitch_v2),
      SLUICE_ENTRY("cuMemAllocManaged", 6000, cuMemAllocManaged),
      SLUICE_ENTRY("cuMemFree", 3020, cuMemFree_v2),
      SLUICE_ENTRY("cuMemGetInfo", 3020, cuMemGetInfo_v2),
      SLUICE_ENTRY("cuMemGetAddressRange", 3020, cuMemGetAddressRange_v2),
      SLUICE_ENTRY("cuMemAdvise", 8000, cuMemAdvise),
      SLUICE_ENTRY("cuMemAdvise", 12020, cuMemAdvise_v2),
      SLUICE_ENTRY_PAIR("cuMemPrefetchAsync", 8000, cuMemPrefetchAsync, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemPrefetchAsync", 12020, cuMemPrefetchAsync_v2, _ptsz),
  };
  return entries;
}

}  // namespace sluice::softgpu
