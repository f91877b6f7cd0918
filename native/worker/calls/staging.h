// Page-locked memory between the connection and the GPU.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
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
  // Room for a small copy, at most kSmallChunk, that is put into the stream next: copies in a row share a
  // chunk, and one event tells of all of them. Null as above.
  uint8_t* take_part(size_t bytes, CUstream stream, bool may_wait);
  // The stream is about to be destroyed: no event could be recorded in it any more.
  void close_part(CUstream stream);
  // The context is about to go: its chunks as well.
  void forget(CUcontext context);

  // Page-locked memory where the driver gives such.
  static uint8_t* allocate(generated::DriverTable& driver, size_t bytes, bool* pinned);
  static void release(generated::DriverTable& driver, uint8_t* memory, bool pinned);

 private:
  Chunk* reuse(std::deque<Chunk*>& busy, CUcontext context, bool wait);
  void close_part();

  generated::DriverTable& driver_;
  std::vector<Chunk*> all_;
  std::vector<Chunk*> idle_;  // never enqueued since they were taken last
  std::deque<Chunk*> large_;  // in use, oldest first
  std::deque<Chunk*> small_;
  Chunk* shared_ = nullptr;  // by the small copies of a row, all in one stream
  CUstream shared_stream_ = nullptr;
  size_t shared_used_ = 0;
};

// Page-locked chunks on the way from the GPU to the client. Thread-safe: they are given back by the
// driver's callback threads. A chunk belongs to the context that was current when it was made.
class DownloadBuffers {
 public:
  explicit DownloadBuffers(generated::DriverTable& driver) : driver_(driver) {}

  static constexpr size_t kChunk = Staging::kChunk;

  struct Buffer {
    uint8_t* memory;
    CUcontext context;
    bool pinned;
  };

  // Null when there is no memory.
  Buffer* take();
  void give_back(Buffer* buffer);
  // The context is about to go and nothing runs in it any more.
  void forget(CUcontext context);

 private:
  generated::DriverTable& driver_;
  std::mutex mutex_;
  std::vector<Buffer*> idle_;
};

// Memory of copies whose bytes the client sends late. Kept until the context goes: freeing page-locked
// memory waits for the GPU, which may be waiting for the client, which only the leading thread can hear.
class LateCopies {
 public:
  explicit LateCopies(generated::DriverTable& driver) : driver_(driver) {}

  struct Copy {
    uint8_t* memory = nullptr;
    uint64_t bytes = 0;
    CUcontext context = nullptr;
    bool pinned = false;
    std::atomic<bool> in_use{true};
  };

  // Memory of at least that size, marked as in use; null when there is none.
  Copy* take(uint64_t bytes);
  // For cuLaunchHostFunc, with the copy as argument.
  static void mark_used(void* copy);
  void forget(CUcontext context);

 private:
  generated::DriverTable& driver_;
  std::vector<std::unique_ptr<Copy>> copies_;
};

}  // namespace sluice::worker
