// Streams and events: what waits, and what must be bound by hand.
#include "worker/calls/session.h"

namespace sluice::worker::calls {

void cuStreamCreateWithPriority(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const auto flags = request.args.get<uint32_t>();
  const auto priority = request.args.get<int32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUstream stream = nullptr;
  const CUresult result = session.driver.cuStreamCreateWithPriority(&stream, flags, priority);
  if (result == CUDA_SUCCESS) session.bind(index, stream);
  session.finish(request, result);
}

void cuStreamSynchronize(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUstream stream = nullptr;
  if (!session.find(index, &stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  // A stream of its own that is done needs no waiting. The default stream waits for others as well.
  const CUresult state = stream ? session.driver.cuStreamQuery(stream) : CUDA_ERROR_NOT_READY;
  if (state != CUDA_ERROR_NOT_READY) return session.finish(request, state);
  session.give_lead();
  session.finish(request, session.driver.cuStreamSynchronize(stream));
}

void cuEventSynchronize(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUevent event = nullptr;
  if (!session.find(index, &event)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  const CUresult state = session.driver.cuEventQuery(event);
  if (state != CUDA_ERROR_NOT_READY) return session.finish(request, state);
  session.give_lead();
  session.finish(request, session.driver.cuEventSynchronize(event));
}

void cuEventRecordWithFlags(Session& session, Request& request) {
  const auto event_index = request.args.get<uint32_t>();
  const auto stream_index = request.args.get<uint32_t>();
  const auto flags = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUevent event = nullptr;
  CUstream stream = nullptr;
  if (!session.find(event_index, &event) || !session.find(stream_index, &stream)) {
    return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  }
  if (flags == 0) return session.finish(request, session.driver.cuEventRecord(event, stream));
  if (session.driver.cuEventRecordWithFlags == nullptr)
    return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  session.finish(request, session.driver.cuEventRecordWithFlags(event, stream, flags));
}

}  // namespace sluice::worker::calls
