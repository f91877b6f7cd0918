#include "softgpu/virtual_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "common/scoped_fd.h"
#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/device.h"
#include "softgpu/memory.h"

namespace sluice::softgpu {
namespace {

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

bool is_whole(uint64_t value) { return value % kMappingGranularity == 0; }

// The memory of one device as a file. Places in it are never used twice: a file may be as long as an address.
class Backing {
 public:
  // The place of fresh zeros; false when the system has no such file.
  bool take(uint64_t bytes, uint64_t* place) {
    if (!file_.valid()) file_.reset(memfd_create("sluice-softgpu", MFD_CLOEXEC));
    if (!file_.valid() || ftruncate(file_.get(), static_cast<off_t>(end_ + bytes)) != 0) return false;
    *place = end_;
    end_ += bytes;
    return true;
  }
  void give_back(uint64_t place, uint64_t bytes) {
    fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(place),
              static_cast<off_t>(bytes));
  }
  bool map(uint64_t address, uint64_t place, uint64_t bytes) const {
    return mmap(pointer(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
                file_.get(), static_cast<off_t>(place)) != MAP_FAILED;
  }

 private:
  ScopedFd file_;
  uint64_t end_ = 0;
};

struct Physical {
  static constexpr HandleKind kKind = HandleKind::kPhysicalMemory;

  CUmemAllocationProp properties{};
  int device = 0;
  uint64_t place = 0;
  uint64_t bytes = 0;
  void* handle = nullptr;  // null while only mappings hold it
  unsigned references = 0;
  unsigned mappings = 0;
};

struct State {
  std::mutex mutex;
  Backing backing[kMaxDevices];
  std::map<uint64_t, Reservation> reservations;                // by address
  std::map<uint64_t, std::shared_ptr<Physical>> mapped;        // by address
  std::map<const Physical*, std::shared_ptr<Physical>> alive;  // those with a handle

  const Reservation* holder(uint64_t address) const {
    auto after = reservations.upper_bound(address);
    if (after == reservations.begin()) return nullptr;
    const Reservation& found = std::prev(after)->second;
    return address - found.begin < found.bytes ? &found : nullptr;
  }

  std::shared_ptr<Physical> find(CUmemGenericAllocationHandle handle) const {
    const auto* found = lookup<Physical>(pointer(handle));
    const auto at = alive.find(found);
    return found == nullptr || at == alive.end() ? nullptr : at->second;
  }

  void let_go(Physical& physical) {
    if (physical.references > 0 || physical.mappings > 0) return;
    backing[physical.device].give_back(physical.place, physical.bytes);
    driver()->shared->release(physical.device, physical.bytes);
  }
};

State& state() {
  static auto* instance = new State;
  return *instance;
}

// Work that was queued before may still use the addresses.
void wait_for_devices(uint32_t devices) {
  for (const auto& device : driver()->devices) {
    if ((devices >> device->index & 1) != 0) synchronize_device(*device);
  }
}

}  // namespace

Reservation reservation_of(uint64_t address) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const Reservation* found = s.holder(address);
  return found == nullptr ? Reservation{} : *found;
}

CUresult reserve_addresses(uint64_t bytes, uint64_t alignment, uint64_t wanted, uint64_t* address) {
  if (bytes == 0 || !is_whole(bytes) || (alignment & (alignment - 1)) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > kWindowBytes) return CUDA_ERROR_OUT_OF_MEMORY;
  State& s = state();
  const std::lock_guard lock(s.mutex);
  for (const auto& device : driver()->devices) {
    const uint64_t begin = device->window.reserve_range(bytes, alignment, wanted);
    if (begin == 0) continue;
    s.reservations[begin] = {begin, bytes, device->index};
    *address = begin;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult free_addresses(uint64_t address, uint64_t bytes) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const auto at = s.reservations.find(address);
  if (at == s.reservations.end() || at->second.bytes != bytes) return CUDA_ERROR_INVALID_VALUE;
  const auto inside = s.mapped.lower_bound(address);
  if (inside != s.mapped.end() && inside->first < address + bytes) return CUDA_ERROR_INVALID_VALUE;
  driver()->device(at->second.device)->window.release_range(address, bytes);
  s.reservations.erase(at);
  return CUDA_SUCCESS;
}

CUresult create_physical(const CUmemAllocationProp& properties, uint64_t bytes,
                         CUmemGenericAllocationHandle* handle) {
  Device* device = driver()->device(properties.location.id);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (bytes == 0 || !is_whole(bytes)) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t total = device->config.memory_bytes;
  if (bytes > total || !driver()->shared->reserve(device->index, bytes, total)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  auto created = std::make_shared<Physical>();
  created->properties = properties;
  created->device = device->index;
  created->bytes = bytes;
  created->references = 1;
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (!s.backing[device->index].take(bytes, &created->place)) {
    driver()->shared->release(device->index, bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  created->handle = create_handle(Physical::kKind, created.get());
  *handle = reinterpret_cast<uint64_t>(created->handle);
  s.alive[created.get()] = created;
  return CUDA_SUCCESS;
}

CUresult release_physical(CUmemGenericAllocationHandle handle) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const std::shared_ptr<Physical> found = s.find(handle);
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  if (--found->references > 0) return CUDA_SUCCESS;
  destroy_handle(std::exchange(found->handle, nullptr));
  s.alive.erase(found.get());
  s.let_go(*found);
  return CUDA_SUCCESS;
}

CUresult physical_properties(CUmemGenericAllocationHandle handle, CUmemAllocationProp* properties) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const std::shared_ptr<Physical> found = s.find(handle);
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  *properties = found->properties;
  return CUDA_SUCCESS;
}

CUresult retain_physical(uint64_t address, CUmemGenericAllocationHandle* handle) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const auto found = memory_registry().find(address);
  if (!found || found->kind != MemoryKind::kMapped) return CUDA_ERROR_INVALID_VALUE;
  const auto at = s.mapped.find(found->begin);
  if (at == s.mapped.end()) return CUDA_ERROR_INVALID_VALUE;
  Physical& physical = *at->second;
  if (physical.handle == nullptr) {
    physical.handle = create_handle(Physical::kKind, &physical);
    s.alive[&physical] = at->second;
  }
  ++physical.references;
  *handle = reinterpret_cast<uint64_t>(physical.handle);
  return CUDA_SUCCESS;
}

CUresult map_physical(uint64_t address, uint64_t bytes, uint64_t offset,
                      CUmemGenericAllocationHandle handle) {
  if (bytes == 0 || !is_whole(bytes) || !is_whole(address) || !is_whole(offset))
    return CUDA_ERROR_INVALID_VALUE;
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const std::shared_ptr<Physical> physical = s.find(handle);
  if (!physical || offset > physical->bytes || bytes > physical->bytes - offset)
    return CUDA_ERROR_INVALID_VALUE;
  const Reservation* reservation = s.holder(address);
  if (reservation == nullptr || bytes > reservation->begin + reservation->bytes - address) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!memory_registry().is_unknown(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (!s.backing[physical->device].map(address, physical->place + offset, bytes)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  Allocation allocation;
  allocation.begin = address;
  allocation.bytes = allocation.reserved = bytes;
  allocation.kind = MemoryKind::kMapped;
  allocation.device = physical->device;
  memory_registry().add(allocation);
  s.mapped[address] = physical;
  ++physical->mappings;
  return CUDA_SUCCESS;
}

CUresult unmap(uint64_t address, uint64_t bytes) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto whole = memory_registry().mapped(address, bytes);
  if (whole.empty()) return CUDA_ERROR_INVALID_VALUE;
  uint32_t devices = 0;
  for (const Allocation& mapping : whole) devices |= mapping.access;
  wait_for_devices(devices);
  State& s = state();
  const std::lock_guard lock(s.mutex);
  for (const Allocation& mapping : whole) {
    if (!memory_registry().remove(mapping.begin)) continue;  // another thread was first
    mmap(pointer(mapping.begin), mapping.bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    const auto at = s.mapped.find(mapping.begin);
    const std::shared_ptr<Physical> physical = at->second;
    s.mapped.erase(at);
    --physical->mappings;
    s.let_go(*physical);
  }
  return CUDA_SUCCESS;
}

CUresult set_access(uint64_t address, uint64_t bytes, const CUmemAccessDesc* descriptions, size_t count) {
  uint32_t given = 0;
  uint32_t taken = 0;
  for (size_t i = 0; i < count; ++i) {
    const CUmemAccessDesc& description = descriptions[i];
    if (description.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    const Device* device = driver()->device(description.location.id);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    const uint32_t bit = uint32_t{1} << device->index;
    switch (description.flags) {
      case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
        given |= bit;
        break;
      case CU_MEM_ACCESS_FLAGS_PROT_NONE:
        taken |= bit;
        break;
      case CU_MEM_ACCESS_FLAGS_PROT_READ:
        return CUDA_ERROR_NOT_SUPPORTED;  // the engine tells reading from writing nowhere
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
  }
  const auto whole = memory_registry().mapped(address, bytes);
  if (whole.empty()) return CUDA_ERROR_INVALID_VALUE;
  if (taken != 0) wait_for_devices(taken);
  for (const Allocation& mapping : whole) {
    memory_registry().set_access(mapping.begin, (mapping.access | given) & ~taken);
  }
  return CUDA_SUCCESS;
}

CUresult get_access(uint64_t address, const CUmemLocation& location, unsigned long long* flags) {
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  if (driver()->device(location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const auto found = memory_registry().find(address);
  if (!found || found->kind != MemoryKind::kMapped) return CUDA_ERROR_INVALID_VALUE;
  *flags = (found->access >> location.id & 1) != 0 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                   : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

}  // namespace sluice::softgpu
