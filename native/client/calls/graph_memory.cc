// Memory that devices keep for graphs, and objects of the program that live as long as graphs do.
#include "client/graph_scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

constexpr uint64_t kMostReferences = INT32_MAX;

CUresult begin_device(Scope* scope, CUdevice ordinal, Device** device) {
  if (CUresult error = scope->enter()) return error;
  *device = scope->session->device(ordinal);
  if (*device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  scope->channel = (*device)->channel;
  return scope->channel->state();
}

bool is_attribute(CUgraphMem_attribute attr) {
  return attr >= CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT && attr <= CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
}

}  // namespace

CUresult cuDeviceGraphMemTrim(CUdevice ordinal) {
  Scope scope;
  Device* device = nullptr;
  if (CUresult error = begin_device(&scope, ordinal, &device)) return error;
  wire::AsyncFrame<4> frame(CallId::cuDeviceGraphMemTrim);
  frame.put(int32_t{device->ordinal_there});
  return scope.post(frame);
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attr, void* value) {
  if (value == nullptr || !is_attribute(attr)) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Device* device = nullptr;
  if (CUresult error = begin_device(&scope, ordinal, &device)) return error;
  wire::SyncFrame<8> frame(CallId::cuDeviceGetGraphMemAttribute);
  frame.put(int32_t{device->ordinal_there});
  frame.put(static_cast<int32_t>(attr));
  wire::FixedReply<8> reply;
  if (CUresult error = scope.call(frame, reply)) return error;
  *static_cast<uint64_t*>(value) = reply.get<uint64_t>();
  return reply.complete() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attr, void* value) {
  if (value == nullptr || !is_attribute(attr)) return CUDA_ERROR_INVALID_VALUE;
  // The marks of the highest use can be reset, to zero; nothing else can be set.
  const bool is_high = attr == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attr == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
  const uint64_t to = *static_cast<const uint64_t*>(value);
  if (!is_high || to != 0) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Device* device = nullptr;
  if (CUresult error = begin_device(&scope, ordinal, &device)) return error;
  wire::AsyncFrame<16> frame(CallId::cuDeviceSetGraphMemAttribute);
  frame.put(int32_t{device->ordinal_there});
  frame.put(static_cast<int32_t>(attr));
  frame.put(to);
  return scope.post(frame);
}

CUresult cuUserObjectCreate(CUuserObject* object_out, void* ptr, CUhostFn destroy,
                            unsigned int initialRefcount, unsigned int flags) {
  if (object_out == nullptr || destroy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (initialRefcount == 0 || initialRefcount > kMostReferences || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
    return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  const std::lock_guard lock(scope.session->user_object_mutex);
  UserObject* object = nullptr;
  if (scope.session->user_objects.mint(&object) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  object->pointer = ptr;
  object->destroy = destroy;
  object->references = initialRefcount;
  *object_out = static_cast<CUuserObject>(object->handle);
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject handle, unsigned int count) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  const std::lock_guard lock(scope.session->user_object_mutex);
  UserObject* object = scope.session->user_objects.find(handle);
  if (object == nullptr || count == 0 || count > kMostReferences) return CUDA_ERROR_INVALID_VALUE;
  object->references += count;
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned int count) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  const std::lock_guard lock(scope.session->user_object_mutex);
  UserObject* object = scope.session->user_objects.find(handle);
  if (object == nullptr || count == 0 || count > object->references) return CUDA_ERROR_INVALID_VALUE;
  release_references(*scope.session, *object, count);
  return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph handle, CUuserObject object_handle, unsigned int count,
                                 unsigned int flags) {
  if (count == 0 || count > kMostReferences || flags > CU_GRAPH_USER_OBJECT_MOVE)
    return CUDA_ERROR_INVALID_VALUE;
  GraphScope scope;
  Graph* graph = nullptr;
  if (CUresult error = scope.begin(handle, &graph)) return error;
  auto references = std::make_shared<ObjectReferences>();
  references->session = scope.session;
  const std::lock_guard lock(scope.session->user_object_mutex);
  references->object = scope.session->user_objects.find(object_handle);
  if (references->object == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool moves = flags == CU_GRAPH_USER_OBJECT_MOVE;  // the caller's references become the graph's
  if (moves && count > references->object->references) return CUDA_ERROR_INVALID_VALUE;
  if (!moves) references->object->references += count;
  references->count = count;
  root_of(*graph).kept.objects.push_back(std::move(references));
  return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(CUgraph handle, CUuserObject object_handle, unsigned int count) {
  GraphScope scope;
  Graph* graph = nullptr;
  if (CUresult error = scope.begin(handle, &graph)) return error;
  std::vector<std::shared_ptr<ObjectReferences>> dropped;  // end after the lock
  const std::lock_guard lock(scope.session->user_object_mutex);
  UserObject* object = scope.session->user_objects.find(object_handle);
  auto& objects = root_of(*graph).kept.objects;
  uint64_t held = 0;
  for (const auto& references : objects) held += references->object == object ? references->count : 0;
  if (object == nullptr || count == 0 || count > held) return CUDA_ERROR_INVALID_VALUE;
  std::erase_if(objects, [&](const auto& references) {
    if (references->object != object) return false;
    dropped.push_back(references);
    return true;
  });
  if (held == count) return CUDA_SUCCESS;
  // Executable graphs may share what is dropped; what the graph still holds becomes its own.
  auto rest = std::make_shared<ObjectReferences>();
  rest->session = scope.session;
  rest->object = object;
  rest->count = held - count;
  object->references += rest->count;
  objects.push_back(std::move(rest));
  return CUDA_SUCCESS;
}

}  // namespace sluice::client::calls
