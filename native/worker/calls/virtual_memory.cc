// Virtual memory management, within what was granted.
#include "worker/calls/virtual_memory.h"

#include <algorithm>
#include <vector>

#include "worker/calls/session.h"

namespace sluice::worker {

PhysicalMemory::~PhysicalMemory() { memory.release(ordinal, bytes); }

namespace calls {
namespace {

// As many as a program with the smallest granularity on the largest GPU may come to.
constexpr size_t kMaxMappings = 1u << 20;

CUmemAllocationProp properties_of(const Session& session, int32_t ordinal) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, session.device(ordinal)};
  return properties;
}

// What can still be taken: the driver's answer, and what the grant leaves.
uint64_t free_bytes(Session& session, size_t ordinal) {
  const uint64_t limit = session.context.memory.limit(ordinal);
  const uint64_t used = session.context.memory.used(ordinal);
  const uint64_t granted = limit > used ? limit - used : 0;
  size_t free_there = 0;
  size_t total = 0;
  // The driver tells it for the current context's device; of another one the grant alone is known, and a
  // quarter of it is left to be on the safe side.
  if (session.current_context() == 0 || session.current_ordinal() != ordinal ||
      session.driver.cuMemGetInfo_v2(&free_there, &total) != CUDA_SUCCESS) {
    return granted / 4;
  }
  return std::min<uint64_t>(granted, free_there);
}

CUresult create(Session& session, uint32_t index, int32_t ordinal, uint64_t bytes,
                const CUmemAllocationProp& properties) {
  if (session.driver.cuMemCreate == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  VirtualMemory& book = session.virtual_memory;
  if (index == 0 || index >= wire::kMaxHandles || book.physical.contains(index))
    return CUDA_ERROR_INVALID_VALUE;
  const auto device = static_cast<size_t>(ordinal);
  if (!session.context.memory.reserve(device, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  auto memory = std::make_shared<PhysicalMemory>(session.context.memory, device, bytes);
  const CUresult result = session.driver.cuMemCreate(&memory->handle, bytes, &properties, 0);
  if (result == CUDA_SUCCESS) book.physical[index] = std::move(memory);
  return result;
}

}  // namespace

void cuMemAddressReserve(Session& session, Request& request) {
  const auto bytes = request.args.get<uint64_t>();
  const auto alignment = request.args.get<uint64_t>();
  const auto wanted = request.args.get<uint64_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  VirtualMemory& book = session.virtual_memory;
  if (session.driver.cuMemAddressReserve == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  if (book.reservations.size() >= kMaxMappings) return session.finish(request, CUDA_ERROR_OUT_OF_MEMORY);
  CUdeviceptr address = 0;
  const CUresult result = session.driver.cuMemAddressReserve(&address, bytes, alignment, wanted, 0);
  wire::Writer answer;
  if (result == CUDA_SUCCESS) {
    book.reservations[address] = bytes;
    answer.put(uint64_t{address});
  }
  session.finish(request, result, answer);
}

void cuMemAddressFree(Session& session, Request& request) {
  const auto address = request.args.get<uint64_t>();
  const auto bytes = request.args.get<uint64_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  VirtualMemory& book = session.virtual_memory;
  const auto known = book.reservations.find(address);
  if (known == book.reservations.end() || known->second != bytes)
    return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  const CUresult result = session.driver.cuMemAddressFree(address, bytes);
  if (result == CUDA_SUCCESS) book.reservations.erase(known);
  session.finish(request, result);
}

void cuMemCreate(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const auto ordinal = request.args.get<int32_t>();
  const auto bytes = request.args.get<uint64_t>();
  const auto compression = request.args.get<uint8_t>();
  const auto usage = request.args.get<uint16_t>();
  if (!request.args.finished() || !session.device_exists(ordinal)) return session.bad_frame(request);
  CUmemAllocationProp properties = properties_of(session, ordinal);
  properties.allocFlags.compressionType = compression;
  properties.allocFlags.usage = usage;
  const CUresult result = create(session, index, ordinal, bytes, properties);
  if (!request.sync() || result != CUDA_SUCCESS) return session.finish(request, result);
  size_t granularity = 1;
  session.driver.cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  wire::Writer answer;
  answer.put(free_bytes(session, static_cast<size_t>(ordinal)));
  answer.put(uint64_t{granularity});
  session.finish(request, result, answer);
}

void cuMemRelease(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  VirtualMemory& book = session.virtual_memory;
  const auto known = book.physical.find(index);
  if (known == book.physical.end()) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  const CUresult result = session.driver.cuMemRelease(known->second->handle);
  if (result == CUDA_SUCCESS) book.physical.erase(known);
  session.finish(request, result);
}

void cuMemMap(Session& session, Request& request) {
  const auto address = request.args.get<uint64_t>();
  const auto bytes = request.args.get<uint64_t>();
  const auto offset = request.args.get<uint64_t>();
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  VirtualMemory& book = session.virtual_memory;
  const auto known = book.physical.find(index);
  if (known == book.physical.end()) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  if (book.mappings.size() >= kMaxMappings) return session.finish(request, CUDA_ERROR_OUT_OF_MEMORY);
  const CUresult result = session.driver.cuMemMap(address, bytes, offset, known->second->handle, 0);
  if (result == CUDA_SUCCESS) book.mappings[address] = {bytes, known->second};
  session.finish(request, result);
}

void cuMemUnmap(Session& session, Request& request) {
  const auto address = request.args.get<uint64_t>();
  const auto bytes = request.args.get<uint64_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  VirtualMemory& book = session.virtual_memory;
  if (session.driver.cuMemUnmap == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  session.settle_host_tasks();  // unmapping waits for the work that uses the memory
  const auto forget = [&] {
    auto at = book.mappings.lower_bound(address);
    while (at != book.mappings.end() && at->first - address < bytes) at = book.mappings.erase(at);
  };
  if (session.stream_waits.outstanding()) {
    forget();  // as in cuMemFree_v2
    session.give_lead();
    return session.finish(request, session.driver.cuMemUnmap(address, bytes));
  }
  const CUresult result = session.driver.cuMemUnmap(address, bytes);
  if (result == CUDA_SUCCESS) forget();
  session.finish(request, result);
}

void cuMemSetAccess(Session& session, Request& request) {
  const auto address = request.args.get<uint64_t>();
  const auto bytes = request.args.get<uint64_t>();
  const auto ordinal = request.args.get<int32_t>();
  const auto flags = static_cast<CUmemAccess_flags>(request.args.get<int32_t>());
  if (!request.args.finished() || !session.device_exists(ordinal)) return session.bad_frame(request);
  if (session.driver.cuMemSetAccess == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  const CUmemAccessDesc description{{CU_MEM_LOCATION_TYPE_DEVICE, session.device(ordinal)}, flags};
  session.finish(request, session.driver.cuMemSetAccess(address, bytes, &description, 1));
}

void cuMemGetAllocationGranularity(Session& session, Request& request) {
  const auto ordinal = request.args.get<int32_t>();
  const auto option = static_cast<CUmemAllocationGranularity_flags>(request.args.get<int32_t>());
  if (!request.args.finished() || !session.device_exists(ordinal)) return session.bad_frame(request);
  if (session.driver.cuMemGetAllocationGranularity == nullptr)
    return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  const CUmemAllocationProp properties = properties_of(session, ordinal);
  size_t granularity = 0;
  const CUresult result = session.driver.cuMemGetAllocationGranularity(&granularity, &properties, option);
  wire::Writer answer;
  if (result == CUDA_SUCCESS) answer.put(uint64_t{granularity});
  session.finish(request, result, answer);
}

}  // namespace calls
}  // namespace sluice::worker
