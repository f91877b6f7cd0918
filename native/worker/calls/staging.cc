#include "worker/calls/staging.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

namespace sluice::worker {
namespace {

// In use at a time before a copy waits for an older one: enough to keep connection and GPU busy together.
constexpr size_t kMostLarge = 4;
constexpr size_t kMostSmall = 64;
// How many may be in use while a stream waits for the client, when waiting could be for ever.
constexpr size_t kMostUnderTasks = 512;
constexpr size_t kPartAlignment = 16;
constexpr uint64_t kLeastLate = Staging::kSmallChunk;

}  // namespace

uint8_t* Staging::allocate(generated::DriverTable& driver, size_t bytes, bool* pinned) {
  void* memory = nullptr;
  *pinned = driver.cuMemHostAlloc != nullptr &&
            driver.cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE) == CUDA_SUCCESS;
  if (!*pinned) memory = std::malloc(bytes);
  return static_cast<uint8_t*>(memory);
}

void Staging::release(generated::DriverTable& driver, uint8_t* memory, bool pinned) {
  if (pinned) {
    driver.cuMemFreeHost(memory);
  } else {
    std::free(memory);
  }
}

Staging::Chunk* Staging::reuse(std::deque<Chunk*>& busy, CUcontext context, bool wait) {
  for (auto at = busy.begin(); at != busy.end(); ++at) {
    Chunk* chunk = *at;
    if (chunk->context != context) continue;
    const CUresult state = wait ? driver_.cuEventSynchronize(chunk->used) : driver_.cuEventQuery(chunk->used);
    if (state == CUDA_ERROR_NOT_READY) return nullptr;  // younger ones are not ready either, most often
    busy.erase(at);
    return chunk;
  }
  return nullptr;
}

Staging::Chunk* Staging::take(size_t bytes, bool may_wait) {
  const bool small = bytes <= kSmallChunk;
  std::deque<Chunk*>& busy = small ? small_ : large_;
  CUcontext context = nullptr;
  if (driver_.cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return nullptr;
  for (auto at = idle_.begin(); at != idle_.end(); ++at) {
    Chunk* chunk = *at;
    if (chunk->context == context && (chunk->bytes == kSmallChunk) == small) {
      idle_.erase(at);
      return chunk;
    }
  }
  if (Chunk* chunk = reuse(busy, context, false)) return chunk;
  const size_t most = small ? kMostSmall : kMostLarge;
  if (busy.size() >= (may_wait ? most : kMostUnderTasks)) {
    if (Chunk* chunk = reuse(busy, context, true)) return chunk;
  }
  auto* chunk = new Chunk;
  chunk->bytes = small ? kSmallChunk : kChunk;
  chunk->context = context;
  chunk->memory = allocate(driver_, chunk->bytes, &chunk->pinned);
  if (chunk->memory == nullptr ||
      driver_.cuEventCreate(&chunk->used, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    if (chunk->memory != nullptr) release(driver_, chunk->memory, chunk->pinned);
    delete chunk;
    return nullptr;
  }
  all_.push_back(chunk);
  return chunk;
}

void Staging::used_in(Chunk* chunk, CUstream stream) {
  if (driver_.cuEventRecord(chunk->used, stream) != CUDA_SUCCESS) {
    // The context has failed: nothing will read the chunk any more.
    idle_.push_back(chunk);
    return;
  }
  (chunk->bytes == kSmallChunk ? small_ : large_).push_back(chunk);
}

uint8_t* Staging::take_part(size_t bytes, CUstream stream, bool may_wait) {
  CUcontext context = nullptr;
  if (driver_.cuCtxGetCurrent(&context) != CUDA_SUCCESS) return nullptr;
  if (shared_ == nullptr || shared_->context != context || shared_stream_ != stream ||
      shared_used_ + bytes > kSmallChunk) {
    close_part();
    shared_ = take(kSmallChunk, may_wait);
    if (shared_ == nullptr) return nullptr;
    shared_stream_ = stream;
    shared_used_ = 0;
  }
  uint8_t* part = shared_->memory + shared_used_;
  shared_used_ = (shared_used_ + bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
  return part;
}

void Staging::close_part() {
  if (Chunk* chunk = std::exchange(shared_, nullptr)) used_in(chunk, shared_stream_);
}

void Staging::close_part(CUstream stream) {
  if (shared_stream_ == stream) close_part();
}

void Staging::forget(CUcontext context) {
  if (shared_ != nullptr && shared_->context == context) shared_ = nullptr;
  const auto of_context = [context](const Chunk* chunk) { return chunk->context == context; };
  std::erase_if(idle_, of_context);
  std::erase_if(large_, of_context);
  std::erase_if(small_, of_context);
  for (Chunk* chunk : all_) {
    if (!of_context(chunk)) continue;
    driver_.cuEventSynchronize(chunk->used);
    driver_.cuEventDestroy_v2(chunk->used);
    release(driver_, chunk->memory, chunk->pinned);
  }
  std::erase_if(all_, [&](Chunk* chunk) {
    if (!of_context(chunk)) return false;
    delete chunk;
    return true;
  });
}

DownloadBuffers::Buffer* DownloadBuffers::take() {
  CUcontext context = nullptr;
  if (driver_.cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return nullptr;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = idle_.begin(); at != idle_.end(); ++at) {
      if ((*at)->context != context) continue;
      Buffer* buffer = *at;
      idle_.erase(at);
      return buffer;
    }
  }
  bool pinned = false;
  uint8_t* memory = Staging::allocate(driver_, kChunk, &pinned);
  return memory ? new Buffer{memory, context, pinned} : nullptr;
}

void DownloadBuffers::give_back(Buffer* buffer) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(buffer);  // kept for the context's life: the most that were in use at a time
}

void DownloadBuffers::forget(CUcontext context) {
  const std::lock_guard lock(mutex_);
  std::erase_if(idle_, [&](Buffer* buffer) {
    if (buffer->context != context) return false;
    Staging::release(driver_, buffer->memory, buffer->pinned);
    delete buffer;
    return true;
  });
}

LateCopies::Copy* LateCopies::take(uint64_t bytes) {
  CUcontext context = nullptr;
  if (driver_.cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return nullptr;
  for (const auto& copy : copies_) {
    if (copy->context == context && copy->bytes >= bytes && copy->bytes / 2 <= std::max(bytes, kLeastLate) &&
        !copy->in_use.load(std::memory_order_acquire)) {
      copy->in_use.store(true);
      return copy.get();
    }
  }
  auto copy = std::make_unique<Copy>();
  copy->bytes = std::max(std::bit_ceil(bytes), kLeastLate);
  copy->context = context;
  copy->memory = Staging::allocate(driver_, copy->bytes, &copy->pinned);
  return copy->memory ? copies_.emplace_back(std::move(copy)).get() : nullptr;
}

void LateCopies::mark_used(void* copy) {
  static_cast<Copy*>(copy)->in_use.store(false, std::memory_order_release);
}

void LateCopies::forget(CUcontext context) {
  std::erase_if(copies_, [&](const std::unique_ptr<Copy>& copy) {
    if (copy->context != context) return false;
    Staging::release(driver_, copy->memory, copy->pinned);
    return true;
  });
}

}  // namespace sluice::worker
