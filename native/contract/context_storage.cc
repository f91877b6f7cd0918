#include "contract/context_storage.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

namespace sluice::contract {
namespace {

struct Entry {
  void* value;
  StorageDestructor destructor;
};

struct Storage {
  std::shared_mutex mutex;
  std::map<std::pair<CUcontext, void*>, Entry> entries;
  // Raised by every change, so that the per-thread memory of the last hit below can be trusted.
  std::atomic<uint64_t> generation{1};
};

// Never destroyed: libraries call in from their own exit handlers.
Storage& storage() {
  static auto* instance = new Storage;
  return *instance;
}

// Every runtime call starts with one get of the same key; this makes it lock-free.
struct LastHit {
  uint64_t generation = 0;
  CUcontext context = nullptr;
  void* key = nullptr;
  void* value = nullptr;
};
thread_local LastHit last_hit;

}  // namespace

void storage_put(CUcontext context, void* key, void* value, StorageDestructor destructor) {
  Storage& s = storage();
  const std::unique_lock lock(s.mutex);
  s.entries[{context, key}] = Entry{value, destructor};
  s.generation.fetch_add(1, std::memory_order_release);
}

bool storage_get(CUcontext context, void* key, void** value) {
  Storage& s = storage();
  if (last_hit.generation == s.generation.load(std::memory_order_acquire) && last_hit.context == context &&
      last_hit.key == key) {
    *value = last_hit.value;
    return true;
  }
  const std::shared_lock lock(s.mutex);
  const auto found = s.entries.find({context, key});
  if (found == s.entries.end()) return false;
  last_hit = LastHit{s.generation.load(std::memory_order_relaxed), context, key, found->second.value};
  *value = found->second.value;
  return true;
}

bool storage_remove(CUcontext context, void* key) {
  Storage& s = storage();
  const std::unique_lock lock(s.mutex);
  const bool removed = s.entries.erase({context, key}) > 0;
  if (removed) s.generation.fetch_add(1, std::memory_order_release);
  return removed;
}

void storage_clear(CUcontext context) {
  Storage& s = storage();
  std::vector<std::pair<void*, Entry>> removed;
  {
    const std::unique_lock lock(s.mutex);
    auto at = s.entries.lower_bound({context, nullptr});
    while (at != s.entries.end() && at->first.first == context) {
      removed.emplace_back(at->first.second, at->second);
      at = s.entries.erase(at);
    }
    if (!removed.empty()) s.generation.fetch_add(1, std::memory_order_release);
  }
  for (const auto& [key, entry] : removed) {
    if (entry.destructor != nullptr) entry.destructor(context, key, entry.value);
  }
}

}  // namespace sluice::contract
