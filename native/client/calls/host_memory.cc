// Page-locked host memory. It is memory of this machine: what a program notices of it is kept (flags,
// asynchronous copies, pointer attributes); the locking itself is for a GPU in the same machine.
#include <sys/mman.h>
#include <unistd.h>

#include "client/scope.h"
#include "client/shared_memory.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {
namespace {

size_t whole_pages(size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

CUresult allocate(void** pp, size_t bytes, unsigned flags) {
  if (pp == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.need_context()) return error;
  const size_t mapped = whole_pages(bytes);
  if (mapped < bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  void* memory = nullptr;
  if ((flags & CU_MEMHOSTALLOC_DEVICEMAP) != 0) {
    if (CUresult error = allocate_mapped(scope, bytes, &memory)) return error;
  } else {
    memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  scope.session->memory.add_host({reinterpret_cast<uintptr_t>(memory), bytes, flags, scope.context, false,
                                  scope.session->next_id.fetch_add(1)});
  *pp = memory;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemAllocHost_v2(void** pp, size_t bytesize) { return allocate(pp, bytesize, 0); }

CUresult cuMemHostAlloc(void** pp, size_t bytesize, unsigned int flags) {
  constexpr unsigned kKnown =
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  return (flags & ~kKnown) != 0 ? CUDA_ERROR_INVALID_VALUE : allocate(pp, bytesize, flags);
}

CUresult cuMemFreeHost(void* p) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  const auto range = scope.session->memory.remove_host(p, false);
  if (!range) return CUDA_ERROR_INVALID_VALUE;
  // Work that reads or writes the memory may be under way: as on hardware, freeing waits for it.
  const bool in_use = scope.session->tasks.downloads_into(p, range->bytes) || Coherence::instance().find(p);
  if (range->context->active.load() && in_use) {
    cuCtxSynchronize_v2(static_cast<CUcontext>(range->context->handle));
  }
  if (!unmap_for_device(*range)) ::munmap(p, whole_pages(range->bytes));
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* pdptr, void* p, unsigned int Flags) {
  if (pdptr == nullptr || Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.need_context()) return error;
  const auto address = reinterpret_cast<uintptr_t>(p);
  const auto managed = scope.session->memory.device_range(address);
  if (managed && managed->managed) {
    *pdptr = address;
    return CUDA_SUCCESS;
  }
  const auto range = scope.session->memory.host_range(p);
  if (!range) return CUDA_ERROR_INVALID_VALUE;
  SharedRange shared;
  if (CUresult error = map_for_device(scope, *range, &shared)) return error;
  *pdptr = shared.device + (address - shared.host);
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int* pFlags, void* p) {
  if (pFlags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  const auto range = scope.session->memory.host_range(p);
  if (!range || range->registered) return CUDA_ERROR_INVALID_VALUE;
  *pFlags = range->flags;
  return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void* p, size_t bytesize, unsigned int flags) {
  constexpr unsigned kKnown = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                              CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
  if (p == nullptr || bytesize == 0 || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.need_context()) return error;
  if ((flags & CU_MEMHOSTREGISTER_IOMEMORY) != 0) return CUDA_ERROR_NOT_SUPPORTED;  // of the client's machine
  const bool added =
      scope.session->memory.add_host({reinterpret_cast<uintptr_t>(p), bytesize, flags, scope.context, true,
                                      scope.session->next_id.fetch_add(1)});
  return added ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUresult cuMemHostUnregister(void* p) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  const auto range = scope.session->memory.remove_host(p, true);
  if (!range) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  if (Coherence::active() && Coherence::instance().find(p) && range->context->active.load()) {
    cuCtxSynchronize_v2(static_cast<CUcontext>(range->context->handle));  // it brings what the GPU wrote
  }
  unmap_for_device(*range);
  return CUDA_SUCCESS;
}

}  // namespace sluice::client::calls
