// Which addresses are device memory and which are page-locked host memory.
#pragma once

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
  // Takes out the range that starts at `base`.
  std::optional<DeviceRange> remove_device(CUdeviceptr base);
  // The range that holds the address.
  std::optional<DeviceRange> device_range(CUdeviceptr address) const;
  // Takes out all that belongs to the context.
  void remove_context(const Context* context);

  // False when a part of it is there already.
  bool add_host(const HostRange& range);
  std::optional<HostRange> remove_host(const void* base, bool registered);
  std::optional<HostRange> host_range(const void* address) const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<CUdeviceptr, DeviceRange> device_;
  std::map<uintptr_t, HostRange> host_;
};

}  // namespace sluice::client
