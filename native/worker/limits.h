// Memory limits of one allocation, kept for all its session processes together in memory that they
// share with the listener.
//
// What a session uses is written only in that session's slot, and the sum over the slots is the
// allocation's use. A session that is killed at any instruction therefore leaves no wrong total:
// the listener clears its slot and the use is gone.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/result.h"
#include "worker/session.h"

namespace sluice::worker {

// GPUs of one allocation on one server: more than any server has.
inline constexpr size_t kMaxGpus = 64;
// Sessions of one allocation at once; a program that forks more workers than this is told so.
inline constexpr size_t kMaxSessions = 256;

// One session's part of the shared memory.
struct SessionSlot {
  std::atomic<uint32_t> taken{0};
  // Who the client is, for NVML's list of processes: its process id means something on its own host only.
  std::atomic<int32_t> client_pid{0};
  std::atomic<uint64_t> client_host{0};  // a hash of the host's name
  SessionCounters counters;
  std::atomic<uint64_t> used[kMaxGpus]{};  // bytes on each GPU
  std::atomic<uint64_t> peak{0};           // the most bytes at once, over all GPUs
};

class AllocationMemory {
 public:
  // Made by the listener before it forks, so that every session process inherits the mapping.
  static Result<std::shared_ptr<AllocationMemory>> create(size_t gpus);
  ~AllocationMemory();
  AllocationMemory(const AllocationMemory&) = delete;
  AllocationMemory& operator=(const AllocationMemory&) = delete;

  // The listener's: a cleared slot for a new session; nothing when all are taken.
  std::optional<size_t> take_slot();
  // The listener's, once the session's process is gone: its use no longer counts.
  void free_slot(size_t slot);

  SessionSlot& slot(size_t index) { return shared_->slots[index]; }
  // Slots in use are below this.
  size_t slots_ever() const { return shared_->slots_ever.load(); }
  // Bytes used on a GPU by all sessions.
  uint64_t used(size_t gpu) const;

  // Takes `bytes` for a slot unless that brings the sum above `limit`.
  bool reserve(size_t slot, size_t gpu, uint64_t bytes, uint64_t limit);
  void release(size_t slot, size_t gpu, uint64_t bytes);

 private:
  struct Shared {
    pthread_mutex_t mutex;  // robust: the death of its holder unlocks it
    std::atomic<uint32_t> slots_ever{0};
    SessionSlot slots[kMaxSessions];
  };
  class Lock;

  AllocationMemory(Shared* shared, size_t gpus) : shared_(shared), gpus_(gpus) {}

  Shared* shared_;
  size_t gpus_;
};

// The accounting of one session, for SessionContext.
class SlotAccounting : public MemoryAccounting {
 public:
  // `limits`: bytes for each of the session's devices.
  SlotAccounting(std::shared_ptr<AllocationMemory> memory, size_t slot, std::vector<uint64_t> limits);

  bool reserve(size_t device, uint64_t bytes) override;
  void release(size_t device, uint64_t bytes) override;
  uint64_t used(size_t device) const override;
  uint64_t used_here(size_t device) const override;
  uint64_t limit(size_t device) const override;

 private:
  std::shared_ptr<AllocationMemory> memory_;
  size_t slot_;
  std::vector<uint64_t> limits_;
};

}  // namespace sluice::worker
