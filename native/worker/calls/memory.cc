// Device memory, within what was granted.
#include <algorithm>

#include "worker/calls/session.h"

namespace sluice::worker::calls {
namespace {

// What drivers round each allocation to.
constexpr uint64_t kGranularity = 512;

uint64_t rounded(uint64_t bytes) { return (bytes + kGranularity - 1) / kGranularity * kGranularity; }

// Counts the bytes, allocates, and keeps the books whatever comes of it.
template <typename Allocate>
CUresult allocate(Session& session, uint64_t bytes, CUdeviceptr* address, Allocate&& body) {
  const size_t ordinal = session.current_ordinal();
  const uint64_t counted = rounded(bytes);
  if (counted < bytes || !session.context.memory.reserve(ordinal, counted)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = body();
  if (result != CUDA_SUCCESS) {
    session.context.memory.release(ordinal, counted);
    return result;
  }
  session.allocations[*address] = {ordinal, counted, session.current_context()};
  return CUDA_SUCCESS;
}

void forget(Session& session, CUdeviceptr address) {
  session.graphs.freed(address);
  const auto known = session.allocations.find(address);
  if (known == session.allocations.end()) return;
  session.context.memory.release(known->second.ordinal, known->second.bytes);
  session.allocations.erase(known);
}

void answer_address(Session& session, Request& request, CUresult result, CUdeviceptr address) {
  wire::Writer answer;
  if (result == CUDA_SUCCESS) answer.put(uint64_t{address});
  session.finish(request, result, answer);
}

// Attributes of 32 bits; the others have 64.
bool is_narrow(CUmemPool_attribute attribute) { return attribute < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD; }

}  // namespace

void cuMemGetInfo_v2(Session& session, Request& request) {
  if (!request.args.finished()) return session.bad_frame(request);
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  const CUresult result = session.driver.cuMemGetInfo_v2(&free_bytes, &total_bytes);
  const size_t ordinal = session.current_ordinal();
  const uint64_t limit = session.context.memory.limit(ordinal);
  const uint64_t used = session.context.memory.used(ordinal);
  wire::Writer answer;
  if (result == CUDA_SUCCESS) {
    answer.put(std::min<uint64_t>(free_bytes, limit > used ? limit - used : 0));
    answer.put(uint64_t{limit});
  }
  session.finish(request, result, answer);
}

void cuMemAlloc_v2(Session& session, Request& request) {
  const auto bytes = request.args.get<uint64_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUdeviceptr address = 0;
  const CUresult result =
      allocate(session, bytes, &address, [&] { return session.driver.cuMemAlloc_v2(&address, bytes); });
  answer_address(session, request, result, address);
}

void cuMemAllocPitch_v2(Session& session, Request& request) {
  const auto width = request.args.get<uint64_t>();
  const auto height = request.args.get<uint64_t>();
  const auto element = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  // The pitch is known only afterwards; drivers align rows to the granularity.
  const uint64_t likely = rounded(width);
  if (likely < width || height == 0 || likely > UINT64_MAX / height) {
    return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  }
  CUdeviceptr address = 0;
  size_t pitch = 0;
  CUresult result = allocate(session, likely * height, &address, [&] {
    return session.driver.cuMemAllocPitch_v2(&address, &pitch, width, height, element);
  });
  if (result == CUDA_SUCCESS && pitch > likely) {
    auto& known = session.allocations[address];
    const uint64_t more = (pitch - likely) * height;
    if (session.context.memory.reserve(known.ordinal, more)) {
      known.bytes += more;
    } else {
      session.driver.cuMemFree_v2(address);
      forget(session, address);
      result = CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  wire::Writer answer;
  if (result == CUDA_SUCCESS) {
    answer.put(uint64_t{address});
    answer.put(uint64_t{pitch});
  }
  session.finish(request, result, answer);
}

void cuMemFree_v2(Session& session, Request& request) {
  const auto address = request.args.get<uint64_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  session.settle_host_tasks();  // freeing waits for the work that uses the memory
  if (session.stream_waits.outstanding()) {
    // It may wait for what a later request writes. The bytes count as free before they are, which a driver
    // that has no others refuses to give.
    forget(session, address);
    session.give_lead();
    return session.finish(request, session.driver.cuMemFree_v2(address));
  }
  const CUresult result = session.driver.cuMemFree_v2(address);
  if (result == CUDA_SUCCESS) {
    forget(session, address);
    session.shared_memory.remove(address);
  }
  session.finish(request, result);
}

// Pool 0: the current pool of the device.
void cuMemAllocFromPoolAsync(Session& session, Request& request) {
  const auto bytes = request.args.get<uint64_t>();
  const auto pool_index = request.args.get<uint32_t>();
  const auto stream_index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUstream stream = nullptr;
  CUmemoryPool pool = nullptr;
  if (!session.find(stream_index, &stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (pool_index != 0 && !session.find(pool_index, &pool))
    return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  if (session.driver.cuMemAllocAsync == nullptr || session.driver.cuMemAllocFromPoolAsync == nullptr) {
    return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  }
  CUdeviceptr address = 0;
  const auto body = [&] {
    return pool ? session.driver.cuMemAllocFromPoolAsync(&address, bytes, pool, stream)
                : session.driver.cuMemAllocAsync(&address, bytes, stream);
  };
  // In a stream that is captured the graph allocates, and is counted when it is instantiated.
  if (GraphRecord* graph = session.capturing_graph(stream)) {
    const CUresult captured = body();
    if (captured == CUDA_SUCCESS) session.graphs.allocates(*graph, session.current_ordinal(), bytes, address);
    return answer_address(session, request, captured, address);
  }
  const CUresult result = allocate(session, bytes, &address, body);
  answer_address(session, request, result, address);
}

void cuMemFreeAsync(Session& session, Request& request) {
  const auto address = request.args.get<uint64_t>();
  const auto stream_index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUstream stream = nullptr;
  if (!session.find(stream_index, &stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (session.driver.cuMemFreeAsync == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  GraphRecord* graph = session.capturing_graph(stream);
  const CUresult result = session.driver.cuMemFreeAsync(address, stream);
  if (result == CUDA_SUCCESS && graph != nullptr) {
    session.graphs.freed_by_graph(*graph, address);
  } else if (result == CUDA_SUCCESS) {
    forget(session, address);
  }
  session.finish(request, result);
}

void cuMemPoolCreate(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const auto ordinal = request.args.get<int32_t>();
  const auto most_bytes = request.args.get<uint64_t>();
  if (!request.args.finished() || !session.device_exists(ordinal)) return session.bad_frame(request);
  if (session.driver.cuMemPoolCreate == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, session.device(ordinal)};
  properties.maxSize = most_bytes;
  CUmemoryPool pool = nullptr;
  const CUresult result = session.driver.cuMemPoolCreate(&pool, &properties);
  if (result == CUDA_SUCCESS) session.bind(index, pool);
  session.finish(request, result);
}

void cuMemPoolSetAttribute(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const auto attribute = static_cast<CUmemPool_attribute>(request.args.get<int32_t>());
  auto value = request.args.get<uint64_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUmemoryPool pool = nullptr;
  if (!session.find(index, &pool)) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  auto narrow = static_cast<int>(value);
  void* data = is_narrow(attribute) ? static_cast<void*>(&narrow) : &value;
  session.finish(request, session.driver.cuMemPoolSetAttribute(pool, attribute, data));
}

void cuMemPoolGetAttribute(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const auto attribute = static_cast<CUmemPool_attribute>(request.args.get<int32_t>());
  if (!request.args.finished()) return session.bad_frame(request);
  CUmemoryPool pool = nullptr;
  if (!session.find(index, &pool)) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  uint64_t value = 0;
  int narrow = 0;
  void* data = is_narrow(attribute) ? static_cast<void*>(&narrow) : &value;
  const CUresult result = session.driver.cuMemPoolGetAttribute(pool, attribute, data);
  wire::Writer answer;
  if (result == CUDA_SUCCESS) answer.put(is_narrow(attribute) ? static_cast<uint64_t>(narrow) : value);
  session.finish(request, result, answer);
}

}  // namespace sluice::worker::calls
