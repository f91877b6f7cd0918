// The address window of one device: where its allocations live in this process. Reserved without access,
// backed by pages only where there are allocations, and lazily there.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::softgpu {

constexpr uint64_t kWindowsBegin = 0x2000'0000'0000;
constexpr uint64_t kWindowsEnd = 0x7400'0000'0000;  // programs have their own memory above
constexpr uint64_t kWindowBytes = uint64_t{2} << 40;
constexpr uint64_t kAllocationGranularity = 512;  // bytes; what accounting and addresses are rounded to

// What managed memory is rounded to: no page of it holds anything else.
constexpr uint64_t kManagedGranularity = 64u << 10;

constexpr uint64_t round_up(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

class Window {
 public:
  explicit Window(int device) : begin_(kWindowsBegin + static_cast<uint64_t>(device) * kWindowBytes) {}

  // Takes the address range, or the next one that is free when something else is there. A sentence when none
  // is; empty on success.
  std::string reserve();
  // A readable and writable range whose untouched pages are zero; 0 when there is no room. bytes is a
  // multiple of the granularity; large ranges begin at a multiple of 2 MiB, others of `least_alignment`.
  uint64_t allocate(uint64_t bytes, uint64_t least_alignment = kAllocationGranularity);
  // Addresses without memory, for cuMemAddressReserve: at `wanted` when that is free, else anywhere. Both
  // numbers are multiples of 2 MiB, alignment a power of two. 0 when there is no room.
  uint64_t reserve_range(uint64_t bytes, uint64_t alignment, uint64_t wanted);
  // What was mapped there has been unmapped.
  void release_range(uint64_t address, uint64_t bytes);
  // Gives the pages back to the system.
  void release(uint64_t address, uint64_t bytes);

 private:
  bool open_chunks(uint64_t address, uint64_t bytes);
  void close_chunks(uint64_t address, uint64_t bytes);
  void add_free(uint64_t address, uint64_t bytes);
  void remove_free(std::map<uint64_t, uint64_t>::iterator at);

  bool take_range();
  uint64_t take_free(std::map<uint64_t, uint64_t>::iterator at, uint64_t address, uint64_t bytes);

  uint64_t begin_;
  std::mutex mutex_;
  bool reserved_ = false;
  std::map<uint64_t, uint64_t> free_;                     // address → bytes
  std::set<std::pair<uint64_t, uint64_t>> free_by_size_;  // bytes, address
  std::vector<uint32_t> allocations_in_chunk_;
};

}  // namespace sluice::softgpu
