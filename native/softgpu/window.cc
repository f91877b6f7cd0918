#include "softgpu/window.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sluice::softgpu {
namespace {

constexpr uint64_t kChunk = uint64_t{2} << 20;  // access is opened and closed in these steps
constexpr uint64_t kLarge = uint64_t{1} << 20;  // from here on, ranges begin at a chunk

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

std::string Window::reserve() {
  const std::lock_guard lock(mutex_);
  if (reserved_) return {};
  while (!take_range()) {
    const bool in_use = errno == EEXIST;
    if (!in_use || begin_ + 2 * kWindowBytes > kWindowsEnd) {
      return std::string("The software GPU cannot reserve its address range: ") +
             (in_use ? "no range is free" : std::strerror(errno)) +
             ". It needs 2 TiB of address space per device; see ulimit -v.";
    }
    begin_ += kWindowBytes;
  }
  madvise(pointer(begin_), kWindowBytes, MADV_DONTDUMP);
  allocations_in_chunk_.resize(kWindowBytes / kChunk);
  add_free(begin_, kWindowBytes);
  reserved_ = true;
  return {};
}

// False with errno, which is EEXIST when something else is there.
bool Window::take_range() {
  void* got = mmap(pointer(begin_), kWindowBytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == pointer(begin_)) return true;
  if (got == MAP_FAILED) return false;
  munmap(got, kWindowBytes);  // a kernel before 4.17 takes the address as a hint, and found it in use
  errno = EEXIST;
  return false;
}

void Window::add_free(uint64_t address, uint64_t bytes) {
  auto next = free_.lower_bound(address);
  if (next != free_.end() && address + bytes == next->first) {
    bytes += next->second;
    remove_free(next++);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == address) {
      address = previous->first;
      bytes += previous->second;
      remove_free(previous);
    }
  }
  free_.emplace(address, bytes);
  free_by_size_.emplace(bytes, address);
}

void Window::remove_free(std::map<uint64_t, uint64_t>::iterator at) {
  free_by_size_.erase({at->second, at->first});
  free_.erase(at);
}

uint64_t Window::allocate(uint64_t bytes, uint64_t least_alignment) {
  const std::lock_guard lock(mutex_);
  const uint64_t alignment = bytes >= kLarge ? kChunk : least_alignment;
  for (auto candidate = free_by_size_.lower_bound({bytes, 0}); candidate != free_by_size_.end();
       ++candidate) {
    const auto [free_bytes, free_address] = *candidate;
    const uint64_t address = round_up(free_address, alignment);
    const uint64_t skipped = address - free_address;
    if (skipped > free_bytes || free_bytes - skipped < bytes) continue;
    if (!open_chunks(address, bytes)) return 0;
    return take_free(free_.find(free_address), address, bytes);
  }
  return 0;
}

uint64_t Window::take_free(std::map<uint64_t, uint64_t>::iterator at, uint64_t address, uint64_t bytes) {
  const auto [free_address, free_bytes] = *at;
  const uint64_t skipped = address - free_address;
  remove_free(at);
  if (skipped > 0) add_free(free_address, skipped);
  if (const uint64_t rest = free_bytes - skipped - bytes; rest > 0) add_free(address + bytes, rest);
  return address;
}

uint64_t Window::reserve_range(uint64_t bytes, uint64_t alignment, uint64_t wanted) {
  const std::lock_guard lock(mutex_);
  alignment = std::max(alignment, kChunk);
  const auto fits = [&](uint64_t address, uint64_t free_address, uint64_t free_bytes) {
    const uint64_t skipped = address - free_address;
    return address >= free_address && skipped <= free_bytes && free_bytes - skipped >= bytes;
  };
  if (wanted != 0 && wanted % alignment == 0) {
    auto holder = free_.upper_bound(wanted);
    if (holder != free_.begin()) {
      --holder;
      if (fits(wanted, holder->first, holder->second)) return take_free(holder, wanted, bytes);
    }
  }
  for (auto candidate = free_by_size_.lower_bound({bytes, 0}); candidate != free_by_size_.end();
       ++candidate) {
    const auto [free_bytes, free_address] = *candidate;
    const uint64_t address = round_up(free_address, alignment);
    if (fits(address, free_address, free_bytes)) return take_free(free_.find(free_address), address, bytes);
  }
  return 0;
}

void Window::release_range(uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  add_free(address, bytes);
}

void Window::release(uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  close_chunks(address, bytes);
  add_free(address, bytes);
}

bool Window::open_chunks(uint64_t address, uint64_t bytes) {
  const uint64_t first = (address - begin_) / kChunk;
  const uint64_t last = (address + bytes - 1 - begin_) / kChunk;
  // Only the chunks at the ends can be shared with other allocations; one call opens the whole range.
  bool any_closed = false;
  for (uint64_t chunk = first; chunk <= last && !any_closed; ++chunk)
    any_closed = allocations_in_chunk_[chunk] == 0;
  if (any_closed &&
      mprotect(pointer(begin_ + first * kChunk), (last - first + 1) * kChunk, PROT_READ | PROT_WRITE) != 0) {
    return false;
  }
  // First touches of large allocations cost one fault per 2 MiB instead of 512, where the system has such
  // pages.
  if (any_closed && bytes >= kChunk) {
    madvise(pointer(begin_ + first * kChunk), (last - first + 1) * kChunk, MADV_HUGEPAGE);
  }
  for (uint64_t chunk = first; chunk <= last; ++chunk) ++allocations_in_chunk_[chunk];
  return true;
}

void Window::close_chunks(uint64_t address, uint64_t bytes) {
  const uint64_t first = (address - begin_) / kChunk;
  const uint64_t last = (address + bytes - 1 - begin_) / kChunk;
  uint64_t run = first;  // start of the chunks in a row that nobody uses any more
  const auto close_run = [&](uint64_t end) {
    if (end == run) return;
    // A fresh mapping gives the pages back and takes the access away in one call.
    mmap(pointer(begin_ + run * kChunk), (end - run) * kChunk, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  };
  for (uint64_t chunk = first; chunk <= last; ++chunk) {
    if (--allocations_in_chunk_[chunk] > 0) {
      close_run(chunk);
      run = chunk + 1;
    }
  }
  close_run(last + 1);
}

}  // namespace sluice::softgpu
