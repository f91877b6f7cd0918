// Memory that a device keeps for graphs.
#include "worker/calls/graph_node.h"

namespace sluice::worker::calls {

void cuDeviceGraphMemTrim(Session& session, Request& request) {
  const auto ordinal = request.args.get<int32_t>();
  if (!request.args.finished() || !session.device_exists(ordinal)) return session.bad_frame(request);
  session.finish(request, call(session.driver.cuDeviceGraphMemTrim, session.device(ordinal)));
}

void cuDeviceGetGraphMemAttribute(Session& session, Request& request) {
  const auto ordinal = request.args.get<int32_t>();
  const auto attribute = static_cast<CUgraphMem_attribute>(request.args.get<int32_t>());
  if (!request.args.finished() || !session.device_exists(ordinal)) return session.bad_frame(request);
  uint64_t value = 0;
  const CUresult result = call(session.driver.cuDeviceGetGraphMemAttribute, session.device(ordinal),
                               attribute, static_cast<void*>(&value));
  wire::Writer answer;
  if (result == CUDA_SUCCESS) answer.put(value);
  session.finish(request, result, answer);
}

void cuDeviceSetGraphMemAttribute(Session& session, Request& request) {
  const auto ordinal = request.args.get<int32_t>();
  const auto attribute = static_cast<CUgraphMem_attribute>(request.args.get<int32_t>());
  auto value = request.args.get<uint64_t>();
  if (!request.args.finished() || !session.device_exists(ordinal)) return session.bad_frame(request);
  session.finish(request, call(session.driver.cuDeviceSetGraphMemAttribute, session.device(ordinal),
                               attribute, static_cast<void*>(&value)));
}

}  // namespace sluice::worker::calls
