// Every range of memory that the driver knows in this process: device allocations, pinned and registered host
// memory, managed memory. Device addresses are addresses of this process.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "common/cuda_types.h"
#include "softgpu/ptx/engine.h"

namespace sluice::softgpu {

class Context;
class Pool;

enum class MemoryKind : uint8_t {
  kDevice,      // cuMemAlloc, cuMemAllocPitch, module variables
  kPool,        // cuMemAllocAsync
  kManaged,     // cuMemAllocManaged
  kHost,        // cuMemHostAlloc
  kRegistered,  // cuMemHostRegister
  kArray,       // elements of arrays; copies and textures reach them, no address of a program does
  kMapped,      // cuMemMap
};

struct Allocation {
  uint64_t begin = 0;
  uint64_t bytes = 0;     // as asked for
  uint64_t reserved = 0;  // rounded up, as accounted
  MemoryKind kind = MemoryKind::kDevice;
  Context* context = nullptr;  // who made it; compared, not followed, once the context may be gone
  int device = 0;
  unsigned flags = 0;  // of the call that made it
  uint64_t id = 0;     // CU_POINTER_ATTRIBUTE_BUFFER_ID
  Pool* pool = nullptr;
  bool is_module_variable = false;  // not the caller's to free
  uint32_t access = 0;              // of mapped memory: a bit for each device that may use it

  uint64_t end() const { return begin + bytes; }
  bool on_host() const { return kind == MemoryKind::kHost || kind == MemoryKind::kRegistered; }
  bool freed_by_caller() const {
    return !on_host() && !is_module_variable && kind != MemoryKind::kMapped && kind != MemoryKind::kArray;
  }
};

class MemoryRegistry {
 public:
  // The allocation that contains the address.
  std::optional<Allocation> find(uint64_t address) const;
  void add(Allocation allocation);
  // True when no known range overlaps [begin, begin + bytes).
  bool is_unknown(uint64_t begin, uint64_t bytes) const;
  // Takes out the allocation that begins there.
  std::optional<Allocation> remove(uint64_t begin);
  // Mapped memory that lies in [begin, begin + bytes), in order of address; empty unless it covers the range
  // from its first to its last byte and ends there.
  std::vector<Allocation> mapped(uint64_t begin, uint64_t bytes) const;
  // Sets which devices may use the mapped memory that begins there.
  void set_access(uint64_t begin, uint32_t access);
  // [begin, end) around the address of what `usable` accepts: one allocation, or mapped memory as far as it
  // goes on without a gap. {0, 0} when the address is in none.
  std::pair<uint64_t, uint64_t> span(uint64_t address,
                                     const std::function<bool(const Allocation&)>& usable) const;
  // Takes out all that the context made.
  std::vector<Allocation> remove_all(const Context* context);
  // The pool goes away; its allocations stay.
  void forget_pool(const Pool* pool);
  // Something became inaccessible without being freed.
  void changed() { epoch_.fetch_add(1, std::memory_order_release); }
  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }

 private:
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Allocation> ranges_;
  std::atomic<uint64_t> epoch_{1};
  uint64_t next_id_ = 1;
};

MemoryRegistry& memory_registry();

// Reserves, accounts and registers device memory of the context. OUT_OF_MEMORY when all processes together
// would use more than the device has.
CUresult allocate_device(Context& context, uint64_t bytes, MemoryKind kind, unsigned flags, Pool* pool,
                         bool is_module_variable, uint64_t* address);
// Unregistered already: gives accounting, pages or the host's mapping back.
void dispose(const Allocation& allocation);

// Whether work in the context may touch [address, address + bytes) as one range.
CUresult check_range(const Context& context, uint64_t address, uint64_t bytes);

}  // namespace sluice::softgpu
