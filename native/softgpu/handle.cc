#include "softgpu/handle.h"

#include <sys/mman.h>

#include <deque>
#include <mutex>
#include <new>

namespace sluice::softgpu {
namespace {

struct Slot {
  std::atomic<HandleKind> kind;
  std::atomic<void*> object;
};

constexpr uintptr_t kSlots = uintptr_t{4} << 20;
constexpr size_t kQuarantine = 4096;  // freed slots that wait, so that a stale handle stays invalid for long

struct Table {
  std::mutex mutex;
  Slot* slots = nullptr;
  uintptr_t used = 0;
  std::deque<Slot*> freed;

  Table() {
    // Fresh pages are zero: every slot starts out free.
    void* region = mmap(nullptr, kSlots * sizeof(Slot), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) throw std::bad_alloc();
    slots = static_cast<Slot*>(region);
  }
};

Table& table() {
  static auto* instance = new Table;
  return *instance;
}

}  // namespace

void* create_handle(HandleKind kind, void* object) {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  Slot* slot;
  if (t.freed.size() > kQuarantine || (t.used == kSlots && !t.freed.empty())) {
    slot = t.freed.front();
    t.freed.pop_front();
  } else if (t.used < kSlots) {
    slot = &t.slots[t.used++];
  } else {
    throw std::bad_alloc();
  }
  slot->object.store(object, std::memory_order_relaxed);
  slot->kind.store(kind, std::memory_order_release);
  return slot;
}

void destroy_handle(void* handle) {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  auto* slot = static_cast<Slot*>(handle);
  slot->kind.store(HandleKind::kFree, std::memory_order_release);
  slot->object.store(nullptr, std::memory_order_relaxed);
  t.freed.push_back(slot);
}

void* handle_object(HandleKind kind, const void* handle) {
  const Table& t = table();
  const uintptr_t offset = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(t.slots);
  if (offset >= kSlots * sizeof(Slot) || offset % sizeof(Slot) != 0) return nullptr;
  const auto* slot = static_cast<const Slot*>(handle);
  if (slot->kind.load(std::memory_order_acquire) != kind) return nullptr;
  return slot->object.load(std::memory_order_relaxed);
}

}  // namespace sluice::softgpu
