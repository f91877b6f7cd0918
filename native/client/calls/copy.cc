// Copies of one dimension.
#include <algorithm>
#include <cstring>

#include "client/between_servers.h"
#include "client/captures.h"
#include "client/coherence.h"
#include "client/scope.h"
#include "client/task_order.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

struct CopyScope : Scope {
  Stream* stream = nullptr;
  uint32_t stream_index() const { return stream ? stream->index : 0; }
  CUresult begin(CUstream handle) {
    if (CUresult error = enter()) return error;
    if (CUresult error = find(handle, &stream)) return error;
    return need_context();
  }
  // For a copy between host memory and memory of the device.
  CUresult begin(CUstream handle, CUdeviceptr device_memory) {
    if (CUresult error = enter()) return error;
    if (CUresult error = find(handle, &stream)) return error;
    uint32_t index = stream_index();
    if (CUresult error = reach(device_memory, handle, &index)) return error;
    if (index == 0) stream = nullptr;
    return need_context();
  }
  // A copy between host and device memory in a stream that is captured.
  CUresult capture_rows(CUmemorytype to, CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
    CUDA_MEMCPY3D copy{};
    copy.dstMemoryType = to;
    copy.srcMemoryType = to == CU_MEMORYTYPE_DEVICE ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_UNIFIED;
    copy.dstDevice = dst;
    copy.dstHost = reinterpret_cast<void*>(dst);
    copy.srcDevice = src;
    copy.srcHost = reinterpret_cast<const void*>(src);
    copy.WidthInBytes = bytes;
    copy.Height = copy.Depth = 1;
    return capture_copy(*this, stream, copy);
  }
  // Whether the range is device memory from its first to its last byte.
  bool on_device(CUdeviceptr address, size_t bytes) const {
    const auto range = session->memory.device_range(address);
    return range && bytes <= range->bytes - (address - range->base);
  }
  // Whether it is managed memory, which the GPU copies from and to itself.
  bool is_managed(const void* address, size_t bytes) const {
    if (!Coherence::active()) return false;
    const auto range = session->memory.device_range(reinterpret_cast<CUdeviceptr>(address));
    return range && range->managed && on_device(reinterpret_cast<CUdeviceptr>(address), bytes);
  }
};

CUresult upload(CopyScope& scope, CUdeviceptr dst, const void* src, size_t bytes) {
  const auto* from = static_cast<const uint8_t*>(src);
  while (bytes > 0) {
    const size_t part = std::min<size_t>(bytes, wire::kMaxBulk);
    wire::DynamicFrame frame(CallId::cuMemcpyHtoDAsync_v2, wire::kBulk);
    frame.arguments().put(uint64_t{dst});
    frame.arguments().put(scope.stream_index());
    frame.complete(part);
    if (CUresult error = scope.channel->post(scope.context_index(), frame.data(), frame.size(), from, part)) {
      return error;
    }
    from += part;
    dst += part;
    bytes -= part;
  }
  return CUDA_SUCCESS;
}

// The worker asks for the bytes when the stream has come to the copy.
CUresult upload_when_reached(CopyScope& scope, CUdeviceptr dst, const void* src, size_t bytes) {
  const auto* from = static_cast<const uint8_t*>(src);
  while (bytes > 0) {
    const size_t part = std::min<size_t>(bytes, wire::kMaxBulk);
    HostTask sends;
    sends.channel = scope.channel;
    sends.source = from;
    sends.bytes = part;
    const uint32_t task = scope.session->tasks.add(sends);
    wire::AsyncFrame<24> frame(wire::ControlCall::host_copy);
    frame.put(task);
    frame.put(uint64_t{dst});
    frame.put(uint64_t{part});
    frame.put(scope.stream_index());
    if (CUresult error = scope.post(frame)) {
      scope.session->tasks.forget(task);
      return error;
    }
    from += part;
    dst += part;
    bytes -= part;
  }
  return CUDA_SUCCESS;
}

CUresult download(CopyScope& scope, void* dst, CUdeviceptr src, size_t bytes) {
  auto* into = static_cast<uint8_t*>(dst);
  while (bytes > 0) {
    const size_t part = std::min<size_t>(bytes, wire::kMaxBulk);
    wire::SyncFrame<20> frame(CallId::cuMemcpyDtoH_v2);
    frame.put(uint64_t{src});
    frame.put(uint64_t{part});
    frame.put(scope.stream_index());
    Reply reply{into, part};
    if (CUresult error = scope.call_raw(frame.data(), frame.size(), &reply)) return error;
    if (reply.received != part) return CUDA_ERROR_UNKNOWN;
    into += part;
    src += part;
    bytes -= part;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void* src, size_t bytes, CUstream stream) {
  CopyScope scope;
  if (CUresult error = scope.begin(stream, dst)) return error;
  if (bytes == 0) return CUDA_SUCCESS;
  if (src == nullptr || !scope.on_device(dst, bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (scope.capture != 0)
    return scope.capture_rows(CU_MEMORYTYPE_DEVICE, dst, reinterpret_cast<CUdeviceptr>(src), bytes);
  if (scope.is_managed(src, bytes))
    return cuMemcpyDtoDAsync_v2(dst, reinterpret_cast<CUdeviceptr>(src), bytes, stream);
  // Page-locked memory is read when the stream comes to the copy. It may be read now unless work before
  // the copy still writes it.
  HostTasks& tasks = scope.session->tasks;
  const bool may_change =
      tasks.pending_up_to(last_task(*scope.context, scope.stream)) || tasks.downloads_into(src, bytes);
  if (may_change && scope.session->memory.host_range(src)) return upload_when_reached(scope, dst, src, bytes);
  return upload(scope, dst, src, bytes);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void* src, size_t bytes, CUstream stream) {
  CopyScope scope;
  if (CUresult error = scope.begin(stream, dst)) return error;
  if (bytes == 0) return CUDA_SUCCESS;
  if (src == nullptr || !scope.on_device(dst, bytes)) return CUDA_ERROR_INVALID_VALUE;
  const bool into_managed = scope.is_managed(reinterpret_cast<const void*>(dst), bytes);
  if (scope.is_managed(src, bytes)) {
    if (CUresult error = cuMemcpyDtoDAsync_v2(dst, reinterpret_cast<CUdeviceptr>(src), bytes, stream))
      return error;
    return cuStreamSynchronize(stream);
  }
  // The program may change the source when this returns, and everything before the copy has to be done
  // with it: that needs an answer only when something before still writes it.
  if (scope.session->tasks.downloads_into(src, bytes) ||
      scope.session->tasks.pending_up_to(last_task(*scope.context, scope.stream))) {
    if (CUresult error = cuStreamSynchronize(stream)) return error;
  }
  if (CUresult error = upload(scope, dst, src, bytes)) return error;
  // The program may read what it copied there from the host at once.
  return into_managed ? cuStreamSynchronize(stream) : CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH_v2(void* dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  CopyScope scope;
  if (CUresult error = scope.begin(stream, src)) return error;
  if (bytes == 0) return CUDA_SUCCESS;
  if (dst == nullptr || !scope.on_device(src, bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (scope.is_managed(dst, bytes)) {
    if (CUresult error = cuMemcpyDtoDAsync_v2(reinterpret_cast<CUdeviceptr>(dst), src, bytes, stream))
      return error;
    return cuStreamSynchronize(stream);
  }
  const CUresult result = download(scope, dst, src, bytes);
  if (result == CUDA_SUCCESS && scope.stream == nullptr) scope.settle_blocking();
  return result;
}

CUresult cuMemcpyDtoHAsync_v2(void* dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  CopyScope scope;
  if (CUresult error = scope.begin(stream, src)) return error;
  if (bytes == 0) return CUDA_SUCCESS;
  if (dst == nullptr || !scope.on_device(src, bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (scope.capture != 0)
    return scope.capture_rows(CU_MEMORYTYPE_HOST, reinterpret_cast<CUdeviceptr>(dst), src, bytes);
  if (scope.is_managed(dst, bytes))
    return cuMemcpyDtoDAsync_v2(reinterpret_cast<CUdeviceptr>(dst), src, bytes, stream);
  const auto pinned = scope.session->memory.host_range(dst);
  if (!pinned || bytes > pinned->bytes - (reinterpret_cast<uintptr_t>(dst) - pinned->base)) {
    return download(scope, dst, src, bytes);  // may be synchronous for pageable memory
  }
  const uint32_t number = scope.session->tasks.add_download(dst, bytes);
  wire::AsyncFrame<24> frame(CallId::cuMemcpyDtoHAsync_v2);
  frame.put(number);
  frame.put(uint64_t{src});
  frame.put(uint64_t{bytes});
  frame.put(scope.stream_index());
  const CUresult error = scope.post(frame);
  if (error != CUDA_SUCCESS) scope.session->tasks.forget_download(number);
  return error;
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  CopyScope scope;
  if (CUresult error = scope.begin(stream)) return error;
  if (bytes == 0) return CUDA_SUCCESS;
  if (!scope.on_device(dst, bytes) || !scope.on_device(src, bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (scope.session->channels.size() > 1) [[unlikely]] {
    Context* const to = scope.session->memory.device_range(dst)->context;
    Context* const from = scope.session->memory.device_range(src)->context;
    if (to->channel != from->channel) {
      return copy_between_servers(*scope.session, dst, to, src, from, bytes, {scope.context, scope.stream});
    }
    if (CUresult error = scope.begin(stream, dst)) return error;
  }
  wire::AsyncFrame<28> frame(CallId::cuMemcpyDtoDAsync_v2);
  frame.put(uint64_t{dst});
  frame.put(uint64_t{src});
  frame.put(uint64_t{bytes});
  frame.put(scope.stream_index());
  return scope.post(frame);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  CopyScope scope;
  if (CUresult error = scope.begin(stream)) return error;
  if (bytes == 0) return CUDA_SUCCESS;
  const bool from_device = scope.session->memory.device_range(src).has_value();
  const bool to_device = scope.session->memory.device_range(dst).has_value();
  if (from_device && to_device) return cuMemcpyDtoDAsync_v2(dst, src, bytes, stream);
  if (to_device) return cuMemcpyHtoDAsync_v2(dst, reinterpret_cast<const void*>(src), bytes, stream);
  if (from_device) return cuMemcpyDtoHAsync_v2(reinterpret_cast<void*>(dst), src, bytes, stream);
  if (scope.capture != 0) return scope.capture_rows(CU_MEMORYTYPE_HOST, dst, src, bytes);
  if (CUresult error = cuStreamSynchronize(stream)) return error;
  std::memcpy(reinterpret_cast<void*>(dst), reinterpret_cast<const void*>(src), bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  CopyScope scope;
  if (CUresult error = scope.begin(stream)) return error;
  const bool from_device = scope.session->memory.device_range(src).has_value();
  const bool to_device = scope.session->memory.device_range(dst).has_value();
  if (from_device && !to_device) return cuMemcpyDtoH_v2(reinterpret_cast<void*>(dst), src, bytes, stream);
  if (to_device && !from_device)
    return cuMemcpyHtoD_v2(dst, reinterpret_cast<const void*>(src), bytes, stream);
  if (CUresult error = cuMemcpyAsync(dst, src, bytes, stream)) return error;
  const bool into_managed = scope.is_managed(reinterpret_cast<const void*>(dst), bytes);
  return into_managed ? cuStreamSynchronize(stream) : CUDA_SUCCESS;
}

}  // namespace sluice::client::calls
