// The driver's handles by the index that the client gave them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "wire/frame.h"

namespace sluice::worker {

class HandleTable {
 public:
  bool find(uint32_t index, void** handle) const {
    *handle = index < handles_.size() ? handles_[index] : nullptr;
    return *handle != nullptr;
  }

  bool take(uint32_t index, void** handle) {
    if (!find(index, handle)) return false;
    handles_[index] = nullptr;
    return true;
  }

  void forget(uint32_t index) {
    if (index < handles_.size()) handles_[index] = nullptr;
  }

  // False for an index that an honest client cannot have come to.
  bool bind(uint32_t index, void* handle) {
    // Threads may send what they minted out of order, but not by much.
    constexpr size_t kAhead = 64u << 10;
    if (index == 0 || index >= wire::kMaxHandles || index > handles_.size() + kAhead) return false;
    if (index >= handles_.size()) handles_.resize(index + 1);
    handles_[index] = handle;
    return true;
  }

  // The index of each handle.
  std::map<void*, uint32_t> indices() const {
    std::map<void*, uint32_t> found;
    for (uint32_t i = 0; i < handles_.size(); i++) {
      if (handles_[i] != nullptr) found.emplace(handles_[i], i);
    }
    return found;
  }

  // Zero when the client has no index for it.
  uint32_t index_of(const void* handle) const {
    for (uint32_t i = 0; i < handles_.size(); i++) {
      if (handle != nullptr && handles_[i] == handle) return i;
    }
    return 0;
  }

 private:
  std::vector<void*> handles_;
};

}  // namespace sluice::worker
