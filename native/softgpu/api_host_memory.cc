// Pinned and registered host memory. Under unified addressing its device address is its host address.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/memory.h"

namespace sluice::softgpu {
namespace {

uint64_t page_size() {
  static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Where nothing else of this process is likely to be, and nothing of another process either that shares our
// addresses, as the program behind a worker does. A hint: taken when it is free.
void* likely_free(uint64_t bytes) {
  constexpr uint64_t kBegin = 0x1f00'0000'0000;
  constexpr uint64_t kStep = uint64_t{2} << 20;
  static std::atomic<uint64_t> next{kBegin};
  return reinterpret_cast<void*>(next.fetch_add(round_up(bytes, kStep)));
}

CUresult allocate_host(void** out, size_t bytes, unsigned flags) {
  constexpr unsigned kKnown =
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  if (out == nullptr || bytes == 0 || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  const uint64_t reserved = round_up(bytes, page_size());
  if (reserved < bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  void* got =
      mmap(likely_free(reserved), reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  Allocation allocation;
  allocation.begin = reinterpret_cast<uint64_t>(got);
  allocation.bytes = bytes;
  allocation.reserved = reserved;
  allocation.kind = MemoryKind::kHost;
  allocation.context = context;
  allocation.device = context->device.index;
  allocation.flags = flags;
  memory_registry().add(allocation);
  *out = got;
  return CUDA_SUCCESS;
}

CUresult forget_host(void* pointer, MemoryKind kind, CUresult otherwise) {
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const auto found = memory_registry().find(address);
  if (!found || found->begin != address || found->kind != kind) return otherwise;
  context->synchronize();
  if (found->context != context) found->context->synchronize();
  const auto removed = memory_registry().remove(address);
  if (!removed) return otherwise;
  dispose(*removed);
  return CUDA_SUCCESS;
}

CUresult register_host(void* pointer, size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                              CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
  if (pointer == nullptr || bytes == 0 || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CU_MEMHOSTREGISTER_IOMEMORY) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  const auto begin = reinterpret_cast<uint64_t>(pointer);
  if (begin + bytes < begin) return CUDA_ERROR_INVALID_VALUE;
  if (!memory_registry().is_unknown(begin, bytes)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  // msync without a request does nothing but say whether all pages are mapped.
  const uint64_t first_page = begin / page_size() * page_size();
  if (msync(reinterpret_cast<void*>(first_page), begin + bytes - first_page, MS_ASYNC) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Allocation allocation;
  allocation.begin = begin;
  allocation.bytes = bytes;
  allocation.kind = MemoryKind::kRegistered;
  allocation.context = context;
  allocation.device = context->device.index;
  allocation.flags = flags;
  memory_registry().add(allocation);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuMemHostAlloc(void** out, size_t bytes, unsigned flags) {
  return api([&] { return allocate_host(out, bytes, flags); });
}
SLUICE_API cuMemAllocHost_v2(void** out, size_t bytes) {
  return api([&] { return allocate_host(out, bytes, 0); });
}
SLUICE_API cuMemFreeHost(void* pointer) {
  return api([&] { return forget_host(pointer, MemoryKind::kHost, CUDA_ERROR_INVALID_VALUE); });
}
SLUICE_API cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned flags) {
  return api([&] { return register_host(pointer, bytes, flags); });
}
SLUICE_API cuMemHostUnregister(void* pointer) {
  return api([&]() -> CUresult {
    if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return forget_host(pointer, MemoryKind::kRegistered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  });
}

SLUICE_API cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* pointer, unsigned flags) {
  return api([&]() -> CUresult {
    if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    Context* context;
    SLUICE_TRY(healthy_context(&context));
    const auto found = memory_registry().find(reinterpret_cast<uint64_t>(pointer));
    if (!found || (!found->on_host() && found->kind != MemoryKind::kManaged)) return CUDA_ERROR_INVALID_VALUE;
    *out = reinterpret_cast<uint64_t>(pointer);
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuMemHostGetFlags(unsigned* flags, void* pointer) {
  return api([&]() -> CUresult {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Context* context;
    SLUICE_TRY(healthy_context(&context));
    const auto found = memory_registry().find(reinterpret_cast<uint64_t>(pointer));
    if (!found || !found->on_host()) return CUDA_ERROR_INVALID_VALUE;
    *flags = found->flags;
    return CUDA_SUCCESS;
  });
}

namespace sluice::softgpu {

std::span<const Entry> host_memory_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuMemHostAlloc", 2020, cuMemHostAlloc),
      SLUICE_ENTRY("cuMemAllocHost", 3020, cuMemAllocHost_v2),
      SLUICE_ENTRY("cuMemFreeHost", 2000, cuMemFreeHost),
      SLUICE_ENTRY("cuMemHostRegister", 6050, cuMemHostRegister_v2),
      SLUICE_ENTRY("cuMemHostUnregister", 4000, cuMemHostUnregister),
      SLUICE_ENTRY("cuMemHostGetDevicePointer", 3020, cuMemHostGetDevicePointer_v2),
      SLUICE_ENTRY("cuMemHostGetFlags", 2030, cuMemHostGetFlags),
  };
  return entries;
}

}  // namespace sluice::softgpu
