// Page-locked memory between the connection and the GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "generated/driver_table.h"

namespace sluice::worker {

// Chunks are used by one copy at a time; an event tells when the stream has taken the bytes. Used by the
// leading thread only.
class Staging {
 public:
  explicit Staging(generated::DriverTable& driver) : driver_(driver) {}

  static constexpr size_t kChunk = 1u << 20;
  static constexpr size_t kSmallChunk = 64u << 10;

  struct Chunk {
    uint8_t* memory = nullptr;
    size_t bytes = 0;
    CUcontext context = nullptr;
    CUevent used = nullptr;
    bool pinned = false;
  };

  // A chunk of at least `bytes`, at most kChunk, in the current context. Waits for an old copy when
  // `may_wait` and much is in use; null when there is no memory.
  Chunk* take(size_t bytes, bool may_wait);
  // The stream's copy from the chunk has been enqueued.
  void used_in(Chunk* chunk, CUstream stream);
  // The context is about to go: its chunks as well.
  void forget(CUcontext context);

  // Page-locked memory where the driver gives such.
  static uint8_t* allocate(generated::DriverTable& driver, size_t bytes, bool* pinned);
  static void release(generated::DriverTable& driver, uint8_t* memory, bool pinned);

 private:
  Chunk* reuse(std::deque<Chunk*>& busy, CUcontext context, bool wait);

  generated::DriverTable& driver_;
  std::vector<Chunk*> all_;
  std::vector<Chunk*> idle_;  // never enqueued since they were taken last
  std::deque<Chunk*> large_;  // in use, oldest first
  std::deque<Chunk*> small_;
};

// Page-locked chunks on the way from the GPU to the client. Thread-safe: they are given back by the
// driver's callback threads.
class DownloadBuffers {
 public:
  explicit DownloadBuffers(generated::DriverTable& driver) : driver_(driver) {}

  static constexpr size_t kChunk = Staging::kChunk;

  // Null when there is no memory.
  uint8_t* take();
  void give_back(uint8_t* buffer);

 private:
  generated::DriverTable& driver_;
  std::mutex mutex_;
  std::vector<uint8_t*> idle_;
};

}  // namespace sluice::worker
