// Contexts: binding the client's handles to the driver's.
#include "worker/calls/session.h"

namespace sluice::worker::calls {

void cuDevicePrimaryCtxRetain(Session& session, Request& request) {
  const auto ordinal = request.args.get<int32_t>();
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished() || !session.device_exists(ordinal)) return session.bad_frame(request);
  CUcontext context = nullptr;
  const CUresult result = session.driver.cuDevicePrimaryCtxRetain(&context, session.device(ordinal));
  if (result == CUDA_SUCCESS) session.bind_context(index, context, static_cast<size_t>(ordinal), true);
  session.finish(request, result);
}

void cuDevicePrimaryCtxRelease_v2(Session& session, Request& request) {
  const auto ordinal = request.args.get<int32_t>();
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished() || !session.device_exists(ordinal)) return session.bad_frame(request);
  session.settle_host_tasks();
  CUcontext context = nullptr;
  if (!session.find(index, &context)) return session.finish(request, CUDA_ERROR_INVALID_CONTEXT);
  session.driver.cuCtxSetCurrent(context);
  session.leave_context(index);
  const CUresult result = session.driver.cuDevicePrimaryCtxRelease_v2(session.device(ordinal));
  session.driver.cuCtxSetCurrent(nullptr);
  session.enter_context(session.current_context());
  session.finish(request, result);
}

void cuDevicePrimaryCtxReset_v2(Session& session, Request& request) {
  const auto ordinal = request.args.get<int32_t>();
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished() || !session.device_exists(ordinal)) return session.bad_frame(request);
  session.settle_host_tasks();
  CUcontext context = nullptr;
  if (!session.find(index, &context)) return session.finish(request, CUDA_ERROR_INVALID_CONTEXT);
  session.driver.cuCtxSetCurrent(context);
  session.leave_context(index);
  CUresult result = session.driver.cuDevicePrimaryCtxReset_v2(session.device(ordinal));
  // The client counts from none again, so the reference that was kept for it goes as well.
  const CUresult released = session.driver.cuDevicePrimaryCtxRelease_v2(session.device(ordinal));
  if (result == CUDA_SUCCESS && released != CUDA_ERROR_INVALID_CONTEXT) result = released;
  session.driver.cuCtxSetCurrent(nullptr);
  session.enter_context(session.current_context());
  session.finish(request, result);
}

void cuCtxCreate_v2(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const auto flags = request.args.get<uint32_t>();
  const auto ordinal = request.args.get<int32_t>();
  if (!request.args.finished() || !session.device_exists(ordinal)) return session.bad_frame(request);
  CUcontext context = nullptr;
  const CUresult result = session.driver.cuCtxCreate_v2(&context, flags, session.device(ordinal));
  if (result == CUDA_SUCCESS) {
    session.bind_context(index, context, static_cast<size_t>(ordinal), false);
    // The driver pushed it; the session's stack has one entry only, which the client names.
    CUcontext popped = nullptr;
    session.driver.cuCtxPopCurrent_v2(&popped);
  }
  session.finish(request, result);
}

void cuCtxDestroy_v2(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUcontext context = nullptr;
  if (!session.find(index, &context)) return session.finish(request, CUDA_ERROR_INVALID_CONTEXT);
  session.settle_host_tasks();
  session.driver.cuCtxSetCurrent(context);
  session.leave_context(index);
  session.driver.cuCtxSetCurrent(nullptr);
  const CUresult result = session.driver.cuCtxDestroy_v2(context);
  session.enter_context(session.current_context());
  session.finish(request, result);
}

void cuCtxSynchronize(Session& session, Request& request) {
  if (!request.args.finished()) return session.bad_frame(request);
  const bool soon =
      !session.has_free_streams() && session.done_soon([&] { return session.driver.cuStreamQuery(nullptr); });
  if (!soon) session.give_lead();
  session.finish(request, session.driver.cuCtxSynchronize());
}

// A handle for the pool that the device has from the start.
void bind_default_pool(Session& session, Request& request) {
  const auto ordinal = request.args.get<int32_t>();
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished() || !session.device_exists(ordinal)) return session.bad_frame(request);
  CUmemoryPool pool = nullptr;
  const CUresult result = session.driver.cuDeviceGetDefaultMemPool == nullptr
                              ? CUDA_ERROR_NOT_SUPPORTED
                              : session.driver.cuDeviceGetDefaultMemPool(&pool, session.device(ordinal));
  if (result == CUDA_SUCCESS) session.bind(index, pool);
  session.finish(request, result);
}

}  // namespace sluice::worker::calls
