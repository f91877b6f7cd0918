#include "worker/limits.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace sluice::worker {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

void clear(SessionSlot& slot) {
  for (auto& used : slot.used) used.store(0, kRelaxed);
  slot.peak.store(0, kRelaxed);
  for (auto* counter : {&slot.counters.calls, &slot.counters.launches, &slot.counters.round_trips,
                        &slot.counters.bytes_in, &slot.counters.bytes_out}) {
    counter->store(0, kRelaxed);
  }
  slot.counters.last_call_unix_ms.store(0, kRelaxed);
}

}  // namespace

class AllocationMemory::Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) {
    // The state is right at every instruction, so that a dead holder's lock is simply taken over.
    if (::pthread_mutex_lock(&mutex_) == EOWNERDEAD) ::pthread_mutex_consistent(&mutex_);
  }
  ~Lock() { ::pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

Result<std::shared_ptr<AllocationMemory>> AllocationMemory::create(size_t gpus) {
  if (gpus == 0 || gpus > kMaxGpus) {
    return Failure{"An allocation must name 1 to " + std::to_string(kMaxGpus) + " GPUs of one server."};
  }
  void* mapped = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return Failure{std::string("No memory for the accounting: ") + std::strerror(errno) + "."};
  auto* shared = new (mapped) Shared;
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutex_init(&shared->mutex, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
  return std::shared_ptr<AllocationMemory>(new AllocationMemory(shared, gpus));
}

AllocationMemory::~AllocationMemory() { ::munmap(shared_, sizeof(Shared)); }

std::optional<size_t> AllocationMemory::take_slot() {
  for (size_t i = 0; i < kMaxSessions; i++) {
    SessionSlot& candidate = shared_->slots[i];
    if (candidate.taken.load(kRelaxed)) continue;
    clear(candidate);
    candidate.taken.store(1, kRelaxed);
    if (shared_->slots_ever.load(kRelaxed) <= i) shared_->slots_ever.store(static_cast<uint32_t>(i + 1));
    return i;
  }
  return std::nullopt;
}

void AllocationMemory::free_slot(size_t index) {
  clear(shared_->slots[index]);
  shared_->slots[index].taken.store(0, kRelaxed);
}

uint64_t AllocationMemory::used(size_t gpu) const {
  uint64_t sum = 0;
  const size_t count = shared_->slots_ever.load();
  for (size_t i = 0; i < count; i++) sum += shared_->slots[i].used[gpu].load(kRelaxed);
  return sum;
}

bool AllocationMemory::reserve(size_t index, size_t gpu, uint64_t bytes, uint64_t limit) {
  SessionSlot& slot = shared_->slots[index];
  const Lock lock(shared_->mutex);
  const uint64_t now = used(gpu);
  if (bytes > limit || now > limit - bytes) return false;
  slot.used[gpu].store(slot.used[gpu].load(kRelaxed) + bytes, kRelaxed);
  uint64_t here = 0;
  for (size_t i = 0; i < gpus_; i++) here += slot.used[i].load(kRelaxed);
  slot.peak.store(std::max(slot.peak.load(kRelaxed), here), kRelaxed);
  return true;
}

void AllocationMemory::release(size_t index, size_t gpu, uint64_t bytes) {
  const Lock lock(shared_->mutex);
  std::atomic<uint64_t>& used = shared_->slots[index].used[gpu];
  used.store(used.load(kRelaxed) - std::min(bytes, used.load(kRelaxed)), kRelaxed);
}

SlotAccounting::SlotAccounting(std::shared_ptr<AllocationMemory> memory, size_t slot,
                               std::vector<uint64_t> limits)
    : memory_(std::move(memory)), slot_(slot), limits_(std::move(limits)) {}

bool SlotAccounting::reserve(size_t device, uint64_t bytes) {
  return device < limits_.size() && memory_->reserve(slot_, device, bytes, limits_[device]);
}

void SlotAccounting::release(size_t device, uint64_t bytes) {
  if (device < limits_.size()) memory_->release(slot_, device, bytes);
}

uint64_t SlotAccounting::used(size_t device) const {
  return device < limits_.size() ? memory_->used(device) : 0;
}

uint64_t SlotAccounting::used_here(size_t device) const {
  return device < limits_.size() ? memory_->slot(slot_).used[device].load(kRelaxed) : 0;
}

uint64_t SlotAccounting::limit(size_t device) const { return device < limits_.size() ? limits_[device] : 0; }

}  // namespace sluice::worker
