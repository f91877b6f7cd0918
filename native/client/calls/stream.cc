// Streams.
#include <algorithm>

#include "client/between_servers.h"
#include "client/captures.h"
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

namespace {

// An event that was recorded in a capture makes the stream a part of it. Whatever else comes of a capture
// here the driver says at once.
CUresult wait_while_capturing(Scope& scope, Stream* stream, Event& event, unsigned flags) {
  Capture capture;
  const uint64_t recorded_in = event.capture.load(std::memory_order_acquire);
  const bool external = flags == CU_EVENT_WAIT_EXTERNAL;
  const bool joins = !external && stream != nullptr && scope.session->captures.find(recorded_in, &capture) &&
                     (scope.capture == 0 || scope.capture == recorded_in);
  if (joins || (scope.capture == 0 && recorded_in == 0) || (scope.capture != 0 && external)) {
    wire::AsyncFrame<12> frame(CallId::cuStreamWaitEvent);
    frame.put(stream ? stream->index : 0);
    frame.put(event.index);
    frame.put(uint32_t{flags});
    if (CUresult error = scope.post(frame)) return error;
    if (joins) {
      stream->capture.store(recorded_in, std::memory_order_release);
      scope.session->captures.join(recorded_in, is_blocking(stream));
    }
    return CUDA_SUCCESS;
  }
  wire::SyncFrame<12> frame(CallId::cuStreamWaitEvent);
  frame.put(stream ? stream->index : 0);
  frame.put(event.index);
  frame.put(uint32_t{flags});
  const CUresult result = scope.call(frame);
  if (result != CUDA_SUCCESS) scope.session->captures.invalidate(recorded_in);
  return result;
}

}  // namespace

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
  if (scope.session->captures.any()) [[unlikely]]
    return wait_while_capturing(scope, stream, *event, flags);
  wire::AsyncFrame<12> frame(CallId::cuStreamWaitEvent);
  frame.put(stream ? stream->index : 0);
  frame.put(event->index);
  frame.put(uint32_t{flags});
  return scope.post(frame);
}

}  // namespace sluice::client::calls
