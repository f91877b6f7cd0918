// What is set on streams. Only the priority says something about the stream itself; the others are kept for
// the caller, since this device has one memory, one domain and one way to wait.
#include <algorithm>
#include <cstring>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/stream.h"

namespace sluice::softgpu {
namespace {

constexpr int kLowestPriority = 0;
constexpr int kHighestPriority = -5;

CUresult find_stream(CUstream handle, std::shared_ptr<Stream>* out) {
  if (const auto* own = lookup<Stream>(handle); own != nullptr)
    return own->context->resolve_stream(handle, out);
  Context* context;
  SLUICE_TRY(current_context(&context));
  return context->resolve_stream(handle, out);
}

int first_number(const CUlaunchAttributeValue& value) {
  int number = 0;
  std::memcpy(&number, value.pad, sizeof(number));
  return number;
}

CUresult default_value(const Stream& stream, int attribute, CUlaunchAttributeValue* value) {
  *value = {};
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      value->pad[0] = CU_SYNC_POLICY_AUTO;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      value->priority = stream.priority.load();
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult get_attribute(CUstream handle, int attribute, CUlaunchAttributeValue* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  SLUICE_TRY(find_stream(handle, &stream));
  const std::lock_guard lock(stream->attributes_mutex);
  const auto known = stream->attributes.find(attribute);
  if (known == stream->attributes.end()) return default_value(*stream, attribute, value);
  *value = known->second;
  return CUDA_SUCCESS;
}

CUresult set_attribute(CUstream handle, int attribute, const CUlaunchAttributeValue* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  SLUICE_TRY(find_stream(handle, &stream));
  CUlaunchAttributeValue checked = *value;
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      break;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      if (first_number(checked) < CU_SYNC_POLICY_AUTO || first_number(checked) > CU_SYNC_POLICY_BLOCKING_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
      break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      checked.priority = std::clamp(checked.priority, kHighestPriority, kLowestPriority);
      stream->priority.store(checked.priority);
      break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      if (first_number(checked) != 0 && first_number(checked) != 1) return CUDA_ERROR_INVALID_VALUE;
      break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      if (checked.pad[0] != 0 || checked.pad[1] != 0) return CUDA_ERROR_INVALID_VALUE;  // there is one domain
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  const std::lock_guard lock(stream->attributes_mutex);
  stream->attributes[attribute] = checked;
  return CUDA_SUCCESS;
}

CUresult copy_attributes(CUstream to, CUstream from) {
  std::shared_ptr<Stream> source, destination;
  SLUICE_TRY(find_stream(from, &source));
  SLUICE_TRY(find_stream(to, &destination));
  std::map<int, CUlaunchAttributeValue> values;
  {
    const std::lock_guard lock(source->attributes_mutex);
    values = source->attributes;
  }
  for (const auto& [attribute, value] : values) SLUICE_TRY(set_attribute(to, attribute, &value));
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API_PAIR(cuStreamGetAttribute, _ptsz, (CUstream stream, int attribute, CUlaunchAttributeValue* value),
                return get_attribute(pick(stream), attribute, value);)
SLUICE_API_PAIR(cuStreamSetAttribute, _ptsz,
                (CUstream stream, int attribute, const CUlaunchAttributeValue* value),
                return set_attribute(pick(stream), attribute, value);)
SLUICE_API_PAIR(cuStreamCopyAttributes, _ptsz, (CUstream to, CUstream from),
                return copy_attributes(pick(to), pick(from));)

namespace sluice::softgpu {

std::span<const Entry> stream_attribute_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY_PAIR("cuStreamGetAttribute", 11000, cuStreamGetAttribute, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamSetAttribute", 11000, cuStreamSetAttribute, _ptsz),
      SLUICE_ENTRY_PAIR("cuStreamCopyAttributes", 11000, cuStreamCopyAttributes, _ptsz),
  };
  return entries;
}

}  // namespace sluice::softgpu
