// Events: recording remembers which host tasks come before.
#include "client/scope.h"
#include "client/task_order.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags) {
  Scope scope;
  Event* event = nullptr;
  Stream* stream = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (flags > CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = scope.find(hEvent, &event)) return error;
  if (CUresult error = scope.find(hStream, &stream)) return error;
  if (stream != nullptr && stream->context->channel != event->context->channel)
    return CUDA_ERROR_INVALID_HANDLE;
  if (CUresult error = scope.need_context()) return error;
  event->capture.store(flags == CU_EVENT_RECORD_EXTERNAL ? 0 : scope.capture, std::memory_order_release);
  event->after_task.store(last_task(*scope.context, stream), std::memory_order_relaxed);
  wire::AsyncFrame<12> frame(CallId::cuEventRecordWithFlags);
  frame.put(event->index);
  frame.put(stream ? stream->index : 0);
  frame.put(uint32_t{flags});
  return scope.post(frame);
}

CUresult cuEventRecord(CUevent hEvent, CUstream hStream) {
  return cuEventRecordWithFlags(hEvent, hStream, CU_EVENT_RECORD_DEFAULT);
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Event* first = nullptr;
  Event* second = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(begin, &first)) return error;
  if (CUresult error = scope.find(end, &second)) return error;
  if (first->context->channel != second->context->channel) return CUDA_ERROR_INVALID_HANDLE;
  if (CUresult error = scope.need_context()) return error;
  wire::SyncFrame<8> frame(CallId::cuEventElapsedTime);
  frame.put(first->index);
  frame.put(second->index);
  wire::FixedReply<4> reply;
  if (CUresult error = scope.call(frame, reply)) return error;
  *milliseconds = reply.get<float>();
  return reply.complete() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

}  // namespace sluice::client::calls
