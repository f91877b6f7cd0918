#include "softgpu/graph/user_object.h"

#include <thread>

namespace sluice::softgpu {

UserObject::UserObject(void* data, CUhostFn destroy, unsigned references)
    : data_(data), destroy_(destroy), references_(references), handle_(create_handle(kKind, this)) {}

UserObject::~UserObject() { destroy_handle(handle_); }

bool UserObject::release(unsigned count) {
  if (count > references_) return false;
  references_ -= count;
  if (references_ > 0) return true;
  // The destructor may not call the driver, and must not run while graphs are locked.
  std::thread(destroy_, data_).detach();
  delete this;
  return true;
}

void retain_all(const std::map<UserObject*, unsigned>& objects) {
  for (const auto& [object, count] : objects) object->retain(count);
}

void release_all(std::map<UserObject*, unsigned>& objects) {
  for (const auto& [object, count] : objects) object->release(count);
  objects.clear();
}

}  // namespace sluice::softgpu
