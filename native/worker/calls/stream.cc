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
  if (!session.done_soon([&] { return session.driver.cuStreamQuery(stream); })) session.give_lead();
  session.finish(request, session.driver.cuStreamSynchronize(stream));
}

void cuEventSynchronize(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUevent event = nullptr;
  if (!session.find(index, &event)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (!session.done_soon([&] { return session.driver.cuEventQuery(event); })) session.give_lead();
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
