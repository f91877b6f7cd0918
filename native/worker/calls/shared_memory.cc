#include "worker/calls/shared_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "wire/frame.h"
#include "worker/calls/session.h"

namespace sluice::worker {
namespace {

constexpr uint64_t kRounding = 64u << 10;  // so that no page is anything else's
constexpr uint64_t kLargeStep = 2u << 20;  // where a driver gives small pieces out of larger ones
constexpr uint64_t kPage = wire::kSharedPage;
constexpr uint64_t kPiece = 1u << 20;   // copied from the device at once
constexpr uint32_t kMostPieces = 8192;  // asked for in one call

uint64_t rounded(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

bool SharedMemory::add(CUdeviceptr address, uint64_t bytes, uint8_t* host, uint32_t context) {
  void* copy =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (copy == MAP_FAILED) return false;
  Range range{bytes, host, static_cast<uint8_t*>(copy), context, nullptr};
  session_.driver.cuCtxGetCurrent(&range.handle);
  ranges_[address] = range;
  return true;
}

void SharedMemory::drop(const Range& range) { ::munmap(range.copy, range.bytes); }

void SharedMemory::remove(CUdeviceptr address) {
  const auto at = ranges_.find(address);
  if (at == ranges_.end()) return;
  drop(at->second);
  ranges_.erase(at);
}

void SharedMemory::forget(uint32_t context) {
  std::erase_if(ranges_, [&](const auto& entry) {
    if (entry.second.context != context) return false;
    lanes_.erase(entry.second.handle);
    drop(entry.second);
    return true;
  });
}

bool SharedMemory::is_host(CUdeviceptr address) const {
  const auto at = ranges_.find(address);
  return at != ranges_.end() && at->second.host != nullptr;
}

SharedMemory::Range* SharedMemory::find(CUdeviceptr address, uint64_t bytes, uint64_t* offset) {
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  --after;
  *offset = address - after->first;
  return *offset <= after->second.bytes && bytes <= after->second.bytes - *offset ? &after->second : nullptr;
}

SharedMemory::Lane* SharedMemory::enter(const Range& range) {
  if (session_.driver.cuCtxPushCurrent_v2(range.handle) != CUDA_SUCCESS) return nullptr;
  Lane& lane = lanes_[range.handle];
  if (lane.stream == nullptr) {
    if (session_.driver.cuStreamCreateWithPriority(&lane.stream, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS) {
      leave();
      return nullptr;
    }
    lane.buffer.resize(kPiece);
  }
  return &lane;
}

void SharedMemory::leave() {
  CUcontext left = nullptr;
  session_.driver.cuCtxPopCurrent_v2(&left);
}

CUresult SharedMemory::copy_to_device(const Range& range, CUdeviceptr address, const uint8_t* data,
                                      uint64_t bytes) {
  Lane* lane = enter(range);
  if (lane == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = session_.driver.cuMemcpyHtoDAsync_v2(address, data, bytes, lane->stream);
  if (result == CUDA_SUCCESS) result = session_.driver.cuStreamSynchronize(lane->stream);
  leave();
  return result;
}

CUresult SharedMemory::copy_from_device(const Range& range, CUdeviceptr address, uint64_t bytes,
                                        const uint8_t** data) {
  Lane* lane = enter(range);
  if (lane == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = session_.driver.cuMemcpyDtoHAsync_v2(lane->buffer.data(), address, bytes, lane->stream);
  if (result == CUDA_SUCCESS) result = session_.driver.cuStreamSynchronize(lane->stream);
  leave();
  *data = lane->buffer.data();
  return result;
}

CUresult SharedMemory::write(CUdeviceptr address, const uint8_t* data, uint64_t bytes) {
  uint64_t offset = 0;
  Range* range = find(address, bytes, &offset);
  if (range == nullptr) return CUDA_SUCCESS;
  std::memcpy(range->copy + offset, data, bytes);
  if (range->host == nullptr) return copy_to_device(*range, address, data, bytes);
  std::memcpy(range->host + offset, data, bytes);
  return CUDA_SUCCESS;
}

CUresult SharedMemory::changes(CUdeviceptr address, uint64_t bytes, wire::Writer* answer) {
  uint64_t offset = 0;
  Range* range = find(address, bytes, &offset);
  if (range == nullptr) return CUDA_SUCCESS;
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t piece = std::min(bytes - done, kPiece);
    const uint8_t* now = range->host == nullptr ? nullptr : range->host + offset + done;
    if (now == nullptr) {
      if (CUresult error = copy_from_device(*range, address + done, piece, &now)) return error;
    }
    uint8_t* const had = range->copy + offset + done;
    for (uint64_t page = 0; page < piece;) {
      uint64_t end = page;
      while (end < piece && std::memcmp(now + end, had + end, std::min(kPage, piece - end)) != 0)
        end = std::min(piece, end + kPage);
      if (end == page) {
        page += kPage;
        continue;
      }
      // A kernel may be writing it: the client gets exactly what is remembered.
      std::memcpy(had + page, now + page, end - page);
      answer->put(uint64_t{address + done + page});
      answer->put(static_cast<uint32_t>(end - page));
      answer->bytes(had + page, end - page);
      page = end;
    }
    done += piece;
  }
  return CUDA_SUCCESS;
}

namespace calls {
namespace {

// Whether all work of the current context is known to be done.
bool is_idle(Session& session) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return !session.has_free_streams() &&
         session.driver.cuStreamIsCapturing(nullptr, &status) == CUDA_SUCCESS &&
         status == CU_STREAM_CAPTURE_STATUS_NONE && session.driver.cuStreamQuery(nullptr) == CUDA_SUCCESS;
}

void answer_address(Session& session, Request& request, CUresult result, CUdeviceptr address) {
  wire::Writer answer;
  if (result == CUDA_SUCCESS) answer.put(uint64_t{address});
  session.finish(request, result, answer);
}

// `allocate(bytes)` until the address begins a page, with the bytes counted before.
template <typename Allocate, typename Free>
CUresult allocate_shared(Session& session, uint64_t bytes, CUdeviceptr* address, const Allocate& allocate,
                         const Free& free) {
  const size_t ordinal = session.current_ordinal();
  CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
  for (const uint64_t step : {kRounding, kLargeStep}) {
    const uint64_t counted = rounded(bytes, step);
    if (bytes == 0 || counted < bytes || !session.context.memory.reserve(ordinal, counted))
      return CUDA_ERROR_OUT_OF_MEMORY;
    result = allocate(counted);
    if (result == CUDA_SUCCESS && *address % kPage == 0) {
      session.allocations[*address] = {ordinal, counted, session.current_context()};
      return CUDA_SUCCESS;
    }
    if (result == CUDA_SUCCESS) free();
    session.context.memory.release(ordinal, counted);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_ERROR_OUT_OF_MEMORY;
}

void release(Session& session, CUdeviceptr address) {
  session.shared_memory.remove(address);
  const auto known = session.allocations.find(address);
  if (known == session.allocations.end()) return;
  session.context.memory.release(known->second.ordinal, known->second.bytes);
  session.allocations.erase(known);
}

}  // namespace

void cuMemAllocManaged(Session& session, Request& request) {
  const auto bytes = request.args.get<uint64_t>();
  const auto flags = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  if (session.driver.cuMemAllocManaged == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  CUdeviceptr address = 0;
  // The host of this machine never touches it: whatever the program said, the GPU may.
  static_cast<void>(flags);
  CUresult result = allocate_shared(
      session, bytes, &address,
      [&](uint64_t counted) {
        return session.driver.cuMemAllocManaged(&address, counted, CU_MEM_ATTACH_GLOBAL);
      },
      [&] { session.driver.cuMemFree_v2(address); });
  if (result == CUDA_SUCCESS &&
      !session.shared_memory.add(address, rounded(bytes, kRounding), nullptr, session.current_context())) {
    session.driver.cuMemFree_v2(address);
    release(session, address);
    result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  answer_address(session, request, result, address);
}

void share_host(Session& session, Request& request) {
  const auto bytes = request.args.get<uint64_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  void* host = nullptr;
  CUdeviceptr address = 0;
  CUresult result = allocate_shared(
      session, bytes, &address,
      [&](uint64_t counted) {
        CUresult error = session.driver.cuMemHostAlloc(&host, counted,
                                                       CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE);
        if (error != CUDA_SUCCESS) return error;
        std::memset(host, 0, counted);
        address = reinterpret_cast<CUdeviceptr>(host);
        return CUDA_SUCCESS;
      },
      [&] { session.driver.cuMemFreeHost(host); });
  if (result == CUDA_SUCCESS &&
      !session.shared_memory.add(address, rounded(bytes, kRounding), static_cast<uint8_t*>(host),
                                 session.current_context())) {
    session.driver.cuMemFreeHost(host);
    release(session, address);
    result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  answer_address(session, request, result, address);
}

void unshare_host(Session& session, Request& request) {
  const auto address = request.args.get<uint64_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  if (!session.shared_memory.is_host(address)) return session.finish(request, CUDA_ERROR_INVALID_VALUE);
  session.settle_host_tasks();  // freeing waits for the work that uses the memory
  const CUresult result = session.driver.cuMemFreeHost(reinterpret_cast<void*>(address));
  release(session, address);
  session.finish(request, result);
}

void write_shared(Session& session, Request& request) {
  const auto address = request.args.get<uint64_t>();
  if (!request.args.finished() || request.bulk_bytes == 0 || request.bulk_bytes > wire::kMaxSharedWrite)
    return session.bad_frame(request);
  std::vector<uint8_t> data(request.bulk_bytes);
  if (!session.read_bulk(request, data.data(), data.size())) return;
  session.finish(request, session.shared_memory.write(address, data.data(), data.size()));
}

void fetch_shared(Session& session, Request& request) {
  const uint32_t count = request.args.count(kMostPieces, 2 * sizeof(uint64_t));
  wire::Writer answer;
  answer.put(static_cast<uint8_t>(is_idle(session) ? 1 : 0));
  CUresult result = CUDA_SUCCESS;
  uint64_t asked = 0;
  for (uint32_t i = 0; i < count; i++) {
    const auto address = request.args.get<uint64_t>();
    const auto bytes = request.args.get<uint64_t>();
    if (bytes > wire::kMaxSharedFetch - asked) return session.bad_frame(request);
    asked += bytes;
    if (result == CUDA_SUCCESS) result = session.shared_memory.changes(address, bytes, &answer);
  }
  if (!request.args.finished()) return session.bad_frame(request);
  if (result != CUDA_SUCCESS) return session.finish(request, result);
  session.finish(request, CUDA_SUCCESS, answer);
}

}  // namespace calls
}  // namespace sluice::worker
