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
  if (CUresult error = scope.need_context()) return error;
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

}  // namespace sluice::client::calls
