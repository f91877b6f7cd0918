#include "softgpu/graph/graph_memory.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

#include "softgpu/context.h"
#include "softgpu/memory.h"

namespace sluice::softgpu {
namespace {

struct Use {
  uint64_t used = 0;
  uint64_t used_high = 0;
  uint64_t reserved = 0;
  uint64_t reserved_high = 0;
};

// Never destroyed: graphs are freed by exit handlers of programs.
struct Book {
  std::mutex mutex;
  std::unordered_map<CUdeviceptr, std::weak_ptr<GraphMemory>> by_address;
  std::map<int, Use> by_device;
};

Book& book() {
  static auto* instance = new Book;
  return *instance;
}

}  // namespace

std::shared_ptr<GraphMemory> GraphMemory::create(Context& context, uint64_t bytes, CUresult* result) {
  uint64_t address = 0;
  *result = allocate_device(context, bytes, MemoryKind::kDevice, 0, nullptr, true, &address);
  if (*result != CUDA_SUCCESS) return nullptr;
  std::shared_ptr<GraphMemory> memory(new GraphMemory(context.device.index, address, bytes));
  Book& b = book();
  const std::lock_guard lock(b.mutex);
  b.by_address[address] = memory;
  Use& use = b.by_device[memory->device_];
  use.reserved += bytes;
  use.reserved_high = std::max(use.reserved_high, use.reserved);
  return memory;
}

std::shared_ptr<GraphMemory> GraphMemory::find(CUdeviceptr address) {
  Book& b = book();
  const std::lock_guard lock(b.mutex);
  const auto at = b.by_address.find(address);
  return at == b.by_address.end() ? nullptr : at->second.lock();
}

GraphMemory::~GraphMemory() {
  Book& b = book();
  {
    const std::lock_guard lock(b.mutex);
    b.by_address.erase(address_);
    Use& use = b.by_device[device_];
    use.reserved -= bytes_;
    if (in_use_) use.used -= bytes_;
  }
  // Gone already when its context is.
  if (const auto removed = memory_registry().remove(address_)) dispose(*removed);
}

bool GraphMemory::take() {
  Book& b = book();
  const std::lock_guard lock(b.mutex);
  if (in_use_) return false;
  in_use_ = true;
  Use& use = b.by_device[device_];
  use.used += bytes_;
  use.used_high = std::max(use.used_high, use.used);
  return true;
}

bool GraphMemory::give_back() {
  Book& b = book();
  const std::lock_guard lock(b.mutex);
  if (!in_use_) return false;
  in_use_ = false;
  b.by_device[device_].used -= bytes_;
  return true;
}

CUresult get_graph_memory(int device, CUgraphMem_attribute attribute, uint64_t* value) {
  Book& b = book();
  const std::lock_guard lock(b.mutex);
  const Use& use = b.by_device[device];
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
      *value = use.used;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
      *value = use.used_high;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
      *value = use.reserved;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      *value = use.reserved_high;
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult reset_graph_memory(int device, CUgraphMem_attribute attribute, uint64_t value) {
  if (value != 0) return CUDA_ERROR_INVALID_VALUE;
  Book& b = book();
  const std::lock_guard lock(b.mutex);
  Use& use = b.by_device[device];
  if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) {
    use.used_high = use.used;
  } else if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) {
    use.reserved_high = use.reserved;
  } else {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace sluice::softgpu
