// Objects of the program whose life is counted by references, of the program's own and of graphs.
#pragma once

#include <cstdint>
#include <map>

#include "common/cuda_types.h"
#include "softgpu/handle.h"

namespace sluice::softgpu {

class UserObject {
 public:
  static constexpr HandleKind kKind = HandleKind::kUserObject;

  UserObject(void* data, CUhostFn destroy, unsigned references);
  CUuserObject handle() const { return static_cast<CUuserObject>(handle_); }
  void retain(unsigned count) { references_ += count; }
  // Calls the destructor in a thread of its own and deletes this when the last reference is gone. False when
  // there are not so many.
  bool release(unsigned count);

 private:
  ~UserObject();

  void* const data_;
  const CUhostFn destroy_;
  uint64_t references_;
  void* handle_;
};

// What a graph does when it is copied and when it goes.
void retain_all(const std::map<UserObject*, unsigned>& objects);
void release_all(std::map<UserObject*, unsigned>& objects);

}  // namespace sluice::softgpu
