// Streams.
#include <algorithm>

#include "client/between_servers.h"
#include "client/scope.h"
#include "client/task_order.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

// The scope of a question about a stream, and the stream; null for the default one.
CUresult ask(Scope* scope, CUstream handle, Stream** stream) {
  if (CUresult error = scope->enter()) return error;
  if (CUresult error = scope->find(handle, stream)) return error;
  return scope->need_context();
}

}  // namespace

CUresult cuStreamCreateWithPriority(CUstream* phStream, unsigned int flags, int priority) {
  if (phStream == nullptr || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.need_context()) return error;
  const Device& device = *scope.session->devices[static_cast<size_t>(scope.context->device)];
  Stream* stream = nullptr;
  if (scope.session->streams.mint(&stream) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  stream->belong_to(scope.context);
  stream->flags = flags;
  stream->priority = std::clamp(priority, device.greatest_priority, 0);
  stream->id = scope.session->next_id.fetch_add(1);
  wire::AsyncFrame<12> frame(CallId::cuStreamCreateWithPriority);
  frame.put(stream->index);
  frame.put(uint32_t{flags});
  frame.put(int32_t{stream->priority});
  if (CUresult error = scope.post(frame)) return error;
  *phStream = static_cast<CUstream>(stream->handle);
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* phStream, unsigned int flags) {
  return cuStreamCreateWithPriority(phStream, flags, 0);
}

CUresult cuStreamGetPriority(CUstream hStream, int* priority) {
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Stream* stream = nullptr;
  if (CUresult error = ask(&scope, hStream, &stream)) return error;
  *priority = stream ? stream->priority.load() : 0;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(CUstream hStream, unsigned int* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Stream* stream = nullptr;
  if (CUresult error = ask(&scope, hStream, &stream)) return error;
  *flags = stream ? stream->flags : 0;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream hStream, unsigned long long* streamId) {
  if (streamId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Stream* stream = nullptr;
  if (CUresult error = ask(&scope, hStream, &stream)) return error;
  // Ids of contexts and streams come from one counter, so a default stream can have its context's.
  *streamId = stream ? stream->id : scope.context->id;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream hStream, CUcontext* pctx) {
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Stream* stream = nullptr;
  if (CUresult error = ask(&scope, hStream, &stream)) return error;
  *pctx = static_cast<CUcontext>(stream ? stream->context->handle : scope.context->handle);
  return CUDA_SUCCESS;
}

// No stream is of a green context: there are none.
CUresult cuStreamGetCtx_v2(CUstream hStream, CUcontext* pCtx, CUgreenCtx* pGreenCtx) {
  if (pCtx == nullptr || pGreenCtx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pGreenCtx = nullptr;
  return cuStreamGetCtx(hStream, pCtx);
}

CUresult cuStreamGetDevice(CUstream hStream, CUdevice* device) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Stream* stream = nullptr;
  if (CUresult error = ask(&scope, hStream, &stream)) return error;
  *device = stream ? stream->context->device : scope.context->device;
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int flags) {
  Scope scope;
  Stream* stream = nullptr;
  Event* event = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = scope.find(hStream, &stream)) return error;
  Context* const waiting = scope.context;
  if (CUresult error = scope.find(hEvent, &event)) return error;
  if (CUresult error = scope.need_context()) return error;
  if (stream != nullptr || waiting != nullptr) {
    Context* const place = stream ? stream->context : waiting;
    if (place->channel != event->context->channel) [[unlikely]]
      return wait_for_event_elsewhere(*scope.session, *event, {place, stream}, flags);
  }
  order_after(*scope.context, stream, event->after_task.load(std::memory_order_relaxed));
  wire::AsyncFrame<12> frame(CallId::cuStreamWaitEvent);
  frame.put(stream ? stream->index : 0);
  frame.put(event->index);
  frame.put(uint32_t{flags});
  return scope.post(frame);
}

// Nothing is ever capturing: beginning a capture is refused.
CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus* captureStatus) {
  if (captureStatus == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Stream* stream = nullptr;
  if (CUresult error = ask(&scope, hStream, &stream)) return error;
  *captureStatus = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                unsigned long long* id_out) {
  if (id_out != nullptr) *id_out = 0;
  return cuStreamIsCapturing(hStream, captureStatus_out);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                   unsigned long long* id_out, CUgraph* graph_out,
                                   const CUgraphNode** dependencies_out, size_t* numDependencies_out) {
  if (graph_out != nullptr) *graph_out = nullptr;
  if (dependencies_out != nullptr) *dependencies_out = nullptr;
  if (numDependencies_out != nullptr) *numDependencies_out = 0;
  return cuStreamGetCaptureInfo(hStream, captureStatus_out, id_out);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                   unsigned long long* id_out, CUgraph* graph_out,
                                   const CUgraphNode** dependencies_out, const void** edgeData_out,
                                   size_t* numDependencies_out) {
  if (edgeData_out != nullptr) *edgeData_out = nullptr;
  return cuStreamGetCaptureInfo_v2(hStream, captureStatus_out, id_out, graph_out, dependencies_out,
                                   numDependencies_out);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::swap(*mode, thread_state().capture_mode);
  return CUDA_SUCCESS;
}

}  // namespace sluice::client::calls
