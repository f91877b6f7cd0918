#include "softgpu/ptx/exec/memory.h"

#include <cstring>

#include "softgpu/ptx/exec/heap.h"

namespace sluice::ptx {
namespace {

struct Place {
  char* host = nullptr;   // contiguous
  bool is_local = false;  // interleaved, at `offset`
  uint64_t offset = 0;
};

bool locate_local(Warp& warp, uint64_t offset, uint32_t bytes, Place& place) {
  const uint64_t size = warp.block->launch->local_bytes;
  if (offset > size || bytes > size - offset) return false;
  if (warp.local == nullptr) warp.block->local_memory(warp);
  place.is_local = true;
  place.offset = offset;
  return true;
}

bool locate(Warp& warp, const Inst* in, MemorySpace space, uint64_t address, uint32_t bytes, bool store,
            Place& place) {
  if (space == MemorySpace::kGeneric) {
    if (address - kSharedWindow < kWindowBytes) {
      address -= kSharedWindow;
      space = MemorySpace::kShared;
    } else if (address - kLocalWindow < kWindowBytes) {
      address -= kLocalWindow;
      space = MemorySpace::kLocal;
    } else if (address - kParamWindow < kWindowBytes) {
      address -= kParamWindow;
      space = MemorySpace::kParam;
    } else {
      space = MemorySpace::kGlobal;
    }
  }
  if (address % bytes != 0) {
    memory_fault(warp, in, CUDA_ERROR_MISALIGNED_ADDRESS, address, bytes, space_name(space), store);
    return false;
  }
  const Launch& launch = *warp.block->launch;
  bool valid = false;
  switch (space) {
    case MemorySpace::kShared:
      valid = address <= launch.shared_bytes && bytes <= launch.shared_bytes - address;
      place.host = warp.block->shared + address;
      break;
    case MemorySpace::kLocal:
      valid = locate_local(warp, address, bytes, place);
      break;
    case MemorySpace::kParam:
      valid = !store && address <= launch.param_bytes && bytes <= launch.param_bytes - address;
      place.host = const_cast<char*>(launch.params) + address;
      break;
    default:
      valid = find_range(*warp.thread, address, bytes, in->cache);
      place.host = reinterpret_cast<char*>(address);
      break;
  }
  if (!valid) memory_fault(warp, in, CUDA_ERROR_ILLEGAL_ADDRESS, address, bytes, space_name(space), store);
  return valid;
}

void copy_local(Warp& warp, uint32_t lane, uint64_t offset, char* data, uint32_t bytes, bool store) {
  for (uint32_t done = 0; done < bytes;) {
    char* const word = local_word(warp.local, lane, offset + done);
    const uint32_t step = bytes < 4 ? bytes : 4;
    if (store) {
      std::memcpy(word, data + done, step);
    } else {
      std::memcpy(data + done, word, step);
    }
    done += step;
  }
}

}  // namespace

const char* space_name(MemorySpace space) {
  switch (space) {
    case MemorySpace::kShared:
      return "shared";
    case MemorySpace::kLocal:
      return "local";
    case MemorySpace::kParam:
      return "param";
    default:
      return "global";
  }
}

bool find_range(Thread& thread, uint64_t address, uint64_t bytes, uint8_t cache) {
  CachedRange& cached = thread.ranges[cache];
  if (in_range(cached, address, bytes)) return true;
  // A page of nothing at the bottom: no allocation is there, and null pointers need no look-up.
  if (address < 0x10000) return false;
  const Memory::Range range = thread.memory != nullptr ? thread.memory->find(address) : Memory::Range{};
  if (range.end > range.begin && in_range({range.begin, range.end}, address, bytes)) {
    cached = {range.begin, range.end};
    return true;
  }
  const auto workspace = reinterpret_cast<uint64_t>(thread.launch->grid_workspace);
  const CachedRange grid{workspace, workspace + sizeof thread.launch->grid_workspace};
  if (thread.launch->cooperative && in_range(grid, address, bytes)) {
    cached = grid;
    return true;
  }
  return heap_contains(address, bytes);
}

bool load_lane(Warp& warp, const Inst* in, MemorySpace space, uint32_t lane, uint64_t address, void* data,
               uint32_t bytes) {
  Place place;
  if (!locate(warp, in, space, address, bytes, false, place)) return false;
  if (place.is_local) {
    copy_local(warp, lane, place.offset, static_cast<char*>(data), bytes, false);
  } else {
    std::memcpy(data, place.host, bytes);
  }
  return true;
}

bool store_lane(Warp& warp, const Inst* in, MemorySpace space, uint32_t lane, uint64_t address,
                const void* data, uint32_t bytes) {
  Place place;
  if (!locate(warp, in, space, address, bytes, true, place)) return false;
  if (place.is_local) {
    copy_local(warp, lane, place.offset, const_cast<char*>(static_cast<const char*>(data)), bytes, true);
  } else {
    std::memcpy(place.host, data, bytes);
  }
  return true;
}

char* atomic_target(Warp& warp, const Inst* in, MemorySpace space, uint64_t address, uint32_t bytes) {
  Place place;
  if (!locate(warp, in, space, address, bytes, true, place)) return nullptr;
  if (place.is_local) {
    memory_fault(warp, in, CUDA_ERROR_INVALID_ADDRESS_SPACE, address, bytes, "atomic local", true);
    return nullptr;
  }
  return place.host;
}

bool read_generic(Warp& warp, const Inst* in, uint32_t lane, uint64_t address, void* data, uint64_t bytes) {
  auto* out = static_cast<char*>(data);
  for (uint64_t done = 0; done < bytes; ++done) {
    const uint64_t at = address + done;
    const bool device = at >= kFunctionWindow;
    if (device && !find_range(*warp.thread, at, 1, in->cache)) return false;
    if (!device && at - kLocalWindow < kWindowBytes && at - kLocalWindow >= warp.block->launch->local_bytes)
      return false;
    if (!device && at < kSharedWindow) return false;
    if (!load_lane(warp, in, MemorySpace::kGeneric, lane, at, out + done, 1)) return false;
  }
  return true;
}

}  // namespace sluice::ptx
