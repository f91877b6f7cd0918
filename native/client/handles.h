// Handles that the client gives to programs.
//
// A handle is a number that looks like a pointer and is none: kind, generation and index. The worker
// knows an object by its index alone; kind and generation let the client refuse what is no handle, what
// was destroyed, and what is a handle of something else, without ever following a pointer of the program.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace sluice::client {

enum class Kind : uint64_t {
  context = 1,
  stream = 2,
  event = 3,
  module = 4,
  library = 5,
  function = 6,
  pool = 7,
  array = 11,
  mipmapped_array = 12,
  texture_reference = 18,
  surface_reference = 20,
  memory_handle = 15,
  link = 16,
};

template <typename Object>
class HandleTable {
 public:
  explicit HandleTable(Kind kind) : kind_(static_cast<uint64_t>(kind)) {}

  // The object of a live handle, else null. Lock-free.
  Object* find(const void* handle) const {
    const auto value = reinterpret_cast<uint64_t>(handle);
    const auto index = static_cast<uint32_t>(value >> 4) & kIndexMask;
    if ((value & 0xf) != 0 || value >> kKindShift != kind_ || index >= end_.load(std::memory_order_acquire)) {
      return nullptr;
    }
    Slot* slot = at(index);
    return slot->generation.load(std::memory_order_acquire) == ((value >> kGenerationShift) & kGenerationMask)
               ? slot->object.get()
               : nullptr;
  }

  // A new object and its handle; null when there are too many. The caller fills the object before the
  // program learns the handle.
  void* mint(Object** object) {
    const std::lock_guard lock(mutex_);
    uint32_t index = 0;
    if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
    } else {
      index = end_.load(std::memory_order_relaxed);
      if (index == kIndexMask) return nullptr;
      auto& chunk = chunks_[index / kChunk];
      if (!chunk) chunk = std::make_unique<Slot[]>(kChunk);
      end_.store(index + 1, std::memory_order_release);
    }
    Slot* slot = at(index);
    slot->object = std::make_unique<Object>();
    slot->object->index = index;
    const uint64_t generation = slot->generation.load(std::memory_order_relaxed);
    slot->object->handle = reinterpret_cast<void*>((kind_ << kKindShift) | (generation << kGenerationShift) |
                                                   (uint64_t{index} << 4));
    *object = slot->object.get();
    return slot->object->handle;
  }

  // The handle is dead from here on; its index may be used again. The object itself stays until then,
  // because another thread may be looking at it.
  void release(Object* object) {
    const std::lock_guard lock(mutex_);
    Slot* slot = at(object->index);
    slot->generation.store((slot->generation.load(std::memory_order_relaxed) + 1) & kGenerationMask,
                           std::memory_order_release);
    free_.push_back(object->index);
  }

 private:
  static constexpr uint32_t kChunk = 4096;
  static constexpr uint32_t kIndexMask = (1u << 24) - 1;
  static constexpr uint64_t kGenerationMask = 0xffff;
  static constexpr int kGenerationShift = 28;
  static constexpr int kKindShift = 44;

  struct Slot {
    std::atomic<uint64_t> generation{1};
    std::unique_ptr<Object> object;
  };

  Slot* at(uint32_t index) const { return &chunks_[index / kChunk][index % kChunk]; }

  const uint64_t kind_;
  std::atomic<uint32_t> end_{1};  // index 0 means "none" on the wire
  std::unique_ptr<std::unique_ptr<Slot[]>[]> chunks_ {
    new std::unique_ptr<Slot[]>[ (kIndexMask + 1) / kChunk ]
  };
  std::mutex mutex_;
  std::vector<uint32_t> free_;
};

}  // namespace sluice::client
