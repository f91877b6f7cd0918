// What is set on streams: remembered here, sent there.
#include <algorithm>
#include <cstring>

#include "client/scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

struct AttributeScope : Scope {
  Stream* stream = nullptr;
  CUresult begin(CUstream handle) {
    if (CUresult error = enter()) return error;
    if (CUresult error = find(handle, &stream)) return error;
    return need_context();
  }
  StreamAttributes& attributes() { return stream ? stream->attributes : context->attributes; }
  const Device& device() const { return *session->devices[static_cast<size_t>(context->device)]; }
};

// A number of 32 bits at the beginning of the value.
int first_number(const CUlaunchAttributeValue& value) {
  int number = 0;
  std::memcpy(&number, value.pad, sizeof number);
  return number;
}

// Of a stream on which nothing was set.
CUresult default_value(const AttributeScope& scope, CUlaunchAttributeID attribute,
                       CUlaunchAttributeValue* value) {
  *value = {};
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      value->pad[0] = CU_SYNC_POLICY_AUTO;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      value->priority = scope.stream ? scope.stream->priority.load() : 0;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      // Two bytes: the default domain is the first, the remote one the second where there are two.
      value->pad[1] = scope.device().attributes[CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT] > 1 ? 1 : 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult check_value(const AttributeScope& scope, CUlaunchAttributeID attribute,
                     CUlaunchAttributeValue* value) {
  const int domains = std::max(1, scope.device().attributes[CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT]);
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: {
      const int policy = first_number(*value);
      return policy >= CU_SYNC_POLICY_AUTO && policy <= CU_SYNC_POLICY_BLOCKING_SYNC
                 ? CUDA_SUCCESS
                 : CUDA_ERROR_INVALID_VALUE;
    }
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      value->priority = std::clamp(value->priority, scope.device().greatest_priority, 0);
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      return first_number(*value) == 0 || first_number(*value) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      return static_cast<unsigned char>(value->pad[0]) < domains &&
                     static_cast<unsigned char>(value->pad[1]) < domains
                 ? CUDA_SUCCESS
                 : CUDA_ERROR_INVALID_VALUE;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

CUresult cuStreamSetAttribute(CUstream hStream, CUlaunchAttributeID attr,
                              const CUlaunchAttributeValue* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  AttributeScope scope;
  if (CUresult error = scope.begin(hStream)) return error;
  CUlaunchAttributeValue checked = *value;
  if (CUresult error = check_value(scope, attr, &checked)) return error;
  wire::DynamicFrame frame(CallId::cuStreamSetAttribute);
  frame.arguments().put(scope.stream ? scope.stream->index : uint32_t{0});
  frame.arguments().put(static_cast<int32_t>(attr));
  frame.arguments().bytes(&checked, sizeof checked);
  frame.complete();
  if (CUresult error = scope.post(frame)) return error;
  if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY && scope.stream) scope.stream->priority.store(checked.priority);
  StreamAttributes& attributes = scope.attributes();
  const std::lock_guard lock(attributes.mutex);
  attributes.values[attr] = checked;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetAttribute(CUstream hStream, CUlaunchAttributeID attr, CUlaunchAttributeValue* value_out) {
  if (value_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  AttributeScope scope;
  if (CUresult error = scope.begin(hStream)) return error;
  {
    StreamAttributes& attributes = scope.attributes();
    const std::lock_guard lock(attributes.mutex);
    const auto known = attributes.values.find(attr);
    if (known != attributes.values.end()) {
      *value_out = known->second;
      return CUDA_SUCCESS;
    }
  }
  return default_value(scope, attr, value_out);
}

// What was set on the one is set on the other.
CUresult cuStreamCopyAttributes(CUstream dst, CUstream src) {
  AttributeScope from;
  AttributeScope to;
  if (CUresult error = from.begin(src)) return error;
  if (CUresult error = to.begin(dst)) return error;
  std::map<CUlaunchAttributeID, CUlaunchAttributeValue> values;
  {
    const std::lock_guard lock(from.attributes().mutex);
    values = from.attributes().values;
  }
  for (const auto& [attribute, value] : values) {
    if (CUresult error = cuStreamSetAttribute(dst, attribute, &value)) return error;
  }
  return CUDA_SUCCESS;
}

}  // namespace sluice::client::calls
