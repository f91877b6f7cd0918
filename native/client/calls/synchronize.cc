// Waiting for the work of a stream or of a context.
//
// A wait that would come back at once needs no round trip: after a copy from the device in the default
// stream, say, there is nothing left to wait for unless something was sent since.
#include "client/scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

CUresult cuCtxSynchronize() {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.need_context()) return error;
  if (!scope.session->captures.any() && scope.is_settled()) return CUDA_SUCCESS;
  wire::SyncFrame<0> frame(CallId::cuCtxSynchronize);
  const CUresult result = scope.call(frame);
  if (result == CUDA_SUCCESS) scope.settle();
  return result;
}

CUresult cuStreamSynchronize(CUstream hStream) {
  Scope scope;
  Stream* stream = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(hStream, &stream)) return error;
  if (CUresult error = scope.need_context()) return error;
  if (scope.capture == 0 && scope.is_settled()) return CUDA_SUCCESS;
  wire::SyncFrame<4> frame(CallId::cuStreamSynchronize);
  frame.put(stream ? stream->index : 0);
  const CUresult result = scope.call(frame);
  if (result == CUDA_SUCCESS && stream == nullptr) scope.settle_blocking();
  return result;
}

}  // namespace sluice::client::calls
