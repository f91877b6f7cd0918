#include "client/shared_memory.h"

#include <sys/mman.h>

#include "client/allocate_apart.h"
#include "generated/call_ids.h"

namespace sluice::client {
namespace {

using generated::CallId;

constexpr size_t kPage = 4096;

size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Puts pages at addresses that were claimed.
bool place_pages(uintptr_t base, size_t bytes) {
  void* wanted = reinterpret_cast<void*>(base);
  return ::mmap(wanted, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                -1, 0) == wanted;
}

// The addresses stay claimed, without memory.
void take_pages(uintptr_t base, size_t bytes) {
  ::mmap(reinterpret_cast<void*>(base), whole_pages(bytes), PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void free_managed_there(Scope& scope, CUdeviceptr address) {
  wire::AsyncFrame<8> frame(CallId::cuMemFree_v2);
  frame.put(uint64_t{address});
  scope.post(frame);
}

CUresult share_there(Scope& scope, size_t bytes, CUdeviceptr* address) {
  wire::SyncFrame<8> frame(wire::ControlCall::share_host);
  frame.put(uint64_t{bytes});
  wire::FixedReply<8> reply;
  if (CUresult error = scope.call(frame, reply)) return error;
  *address = reply.get<uint64_t>();
  return reply.complete() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

void unshare_there(Channel& channel, uint32_t context, CUdeviceptr address) {
  wire::AsyncFrame<8> frame(wire::ControlCall::unshare_host);
  frame.put(uint64_t{address});
  channel.post(context, frame.data(), frame.size());
}

SharedRange shared_range(const Scope& scope, uintptr_t host, size_t bytes, CUdeviceptr device) {
  SharedRange range;
  range.host = host;
  range.bytes = bytes;
  range.device = device;
  range.channel = scope.channel;
  range.context = scope.context_index();
  return range;
}

}  // namespace

CUresult allocate_managed(Scope& scope, size_t bytes, unsigned flags, CUdeviceptr* address) {
  const auto allocate = [&](CUdeviceptr* got, size_t*) -> CUresult {
    wire::SyncFrame<12> frame(CallId::cuMemAllocManaged);
    frame.put(uint64_t{bytes});
    frame.put(uint32_t{flags});
    wire::FixedReply<8> reply;
    if (CUresult error = scope.call(frame, reply)) return error;
    *got = reply.get<uint64_t>();
    return reply.complete() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
  };
  size_t claimed = whole_pages(bytes);
  if (CUresult error = allocate_apart(scope, address, &claimed, allocate,
                                      [&](CUdeviceptr unused) { free_managed_there(scope, unused); })) {
    return error;
  }
  SharedRange range = shared_range(scope, *address, bytes, *address);
  range.always = flags == CU_MEM_ATTACH_HOST;
  if (!place_pages(*address, bytes) || !Coherence::instance().add(range, false)) {
    SLUICE_WARN("There is no room for %zu bytes of managed memory in this process.", bytes);
    take_pages(*address, bytes);
    free_managed_there(scope, *address);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  DeviceRange known{*address, bytes, scope.context, nullptr, scope.session->next_id.fetch_add(1)};
  known.managed = true;
  scope.session->memory.add_device(known);
  return CUDA_SUCCESS;
}

void forget_managed(const DeviceRange& range) {
  Coherence::instance().remove(range.base);
  Coherence::instance().advice().forget(range.base, range.bytes);
  take_pages(range.base, range.bytes);
}

CUresult allocate_mapped(Scope& scope, size_t bytes, void** memory) {
  CUdeviceptr address = 0;
  size_t claimed = whole_pages(bytes);
  const auto allocate = [&](CUdeviceptr* got, size_t* size) { return share_there(scope, *size, got); };
  const auto give_back = [&](CUdeviceptr unused) {
    unshare_there(*scope.channel, scope.context_index(), unused);
  };
  if (CUresult error = allocate_apart(scope, &address, &claimed, allocate, give_back)) return error;
  SharedRange range = shared_range(scope, address, bytes, address);
  range.mapped = true;
  if (!place_pages(address, bytes) || !Coherence::instance().add(range, false)) {
    SLUICE_WARN("There is no room for %zu bytes of mapped memory in this process.", bytes);
    take_pages(address, bytes);
    give_back(address);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *memory = reinterpret_cast<void*>(address);
  return CUDA_SUCCESS;
}

CUresult map_for_device(Scope& scope, const HostRange& range, SharedRange* shared) {
  if (const auto known = Coherence::instance().find(reinterpret_cast<void*>(range.base))) {
    *shared = *known;
    return CUDA_SUCCESS;
  }
  CUdeviceptr address = 0;
  // Alignment within a page is kept.
  const size_t offset = range.base % kPage;
  const auto allocate = [&](CUdeviceptr* got, size_t* size) { return share_there(scope, *size, got); };
  const auto give_back = [&](CUdeviceptr unused) {
    unshare_there(*scope.channel, scope.context_index(), unused);
  };
  size_t claimed = whole_pages(offset + range.bytes);
  if (CUresult error = allocate_apart(scope, &address, &claimed, allocate, give_back)) return error;
  *shared = shared_range(scope, range.base, range.bytes, address + offset);
  shared->mapped = true;
  if (Coherence::instance().add(*shared, true)) return CUDA_SUCCESS;
  give_back(address);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

bool unmap_for_device(const HostRange& range) {
  if (!Coherence::active()) return false;
  const auto shared = Coherence::instance().remove(range.base);
  if (!shared) return false;
  unshare_there(*shared->channel, shared->context, shared->device / kPage * kPage);
  if (shared->device != range.base) return false;
  take_pages(range.base, range.bytes);
  return true;
}

}  // namespace sluice::client
