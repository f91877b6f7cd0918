// Which addresses are device memory and which are page-locked host memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>

#include "client/objects.h"

namespace sluice::client {

struct DeviceRange {
  CUdeviceptr base = 0;
  size_t bytes = 0;
  Context* context = nullptr;
  CUmemoryPool pool = nullptr;  // for stream-ordered memory
  uint64_t id = 0;
  bool mapped = false;  // by cuMemMap; neighbours that are mapped too are one range
  bool managed = false;
};

struct HostRange {
  uintptr_t base = 0;
  size_t bytes = 0;
  unsigned flags = 0;
  Context* context = nullptr;
  bool registered = false;  // memory of the program that it had locked, not allocated by us
  uint64_t id = 0;
};

class MemoryMap {
 public:
  void add_device(const DeviceRange& range);
  // Takes out the range that starts at `base` and was allocated, not mapped.
  std::optional<DeviceRange> remove_device(CUdeviceptr base);
  // The range that holds the address.
  std::optional<DeviceRange> device_range(CUdeviceptr address) const;
  // Mapped memory that its devices may use. It belongs to a device: `context` is that device's primary
  // context, active or not.
  void add_mapped(CUdeviceptr base, size_t bytes, Context* context, uint64_t id);
  void remove_mapped(CUdeviceptr base, size_t bytes);
  // Device memory taken so far, in bytes, whether it was given back or not.
  uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }
  // Device memory was taken of which the map does not know: physical memory, arrays.
  void count_taken(uint64_t bytes) { taken_.fetch_add(bytes, std::memory_order_relaxed); }
  // Takes out all that was allocated in the context.
  void remove_context(const Context* context);

  // False when a part of it is there already.
  bool add_host(const HostRange& range);
  std::optional<HostRange> remove_host(const void* base, bool registered);
  std::optional<HostRange> host_range(const void* address) const;

 private:
  std::atomic<uint64_t> taken_{0};
  mutable std::shared_mutex mutex_;
  std::map<CUdeviceptr, DeviceRange> device_;
  std::map<uintptr_t, HostRange> host_;
};

}  // namespace sluice::client
