// How many clusters fit, and how large they may be: asked once for each function and shape.
#include <string>

#include "client/scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

constexpr unsigned kMostAttributes = 64;

CUresult ask(CallId call, CUfunction handle, const CUlaunchConfig* config, int* answer) {
  if (answer == nullptr || config == nullptr || config->numAttrs > kMostAttributes ||
      (config->numAttrs > 0 && config->attrs == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Function* function = nullptr;
  uint32_t stream = 0;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(handle, &function)) return error;
  if (CUresult error = scope.resolve(config->hStream, &stream)) return error;
  if (CUresult error = scope.need_context()) return error;
  wire::DynamicFrame frame(call, wire::kSync);
  wire::Writer& arguments = frame.arguments();
  const size_t begin = arguments.size();
  arguments.put(function->index);
  arguments.put(stream);
  for (const unsigned value : {config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                               config->blockDimY, config->blockDimZ, config->sharedMemBytes}) {
    arguments.put(uint32_t{value});
  }
  arguments.put(uint32_t{config->numAttrs});
  for (unsigned i = 0; i < config->numAttrs; i++) {
    arguments.put(static_cast<uint32_t>(config->attrs[i].id));
    arguments.bytes(&config->attrs[i].value, sizeof config->attrs[i].value);
  }
  std::string question(reinterpret_cast<const char*>(arguments.data()) + begin, arguments.size() - begin);
  question += std::to_string(static_cast<unsigned>(call)) + ':' + std::to_string(scope.context->index);
  {
    const std::lock_guard lock(function->mutex);
    const auto known = function->cluster_occupancy.find(question);
    if (known != function->cluster_occupancy.end()) {
      *answer = known->second;
      return CUDA_SUCCESS;
    }
  }
  frame.complete();
  wire::FixedReply<4> reply;
  if (CUresult error = scope.call(frame, reply)) return error;
  *answer = reply.get<int32_t>();
  if (!reply.complete()) return CUDA_ERROR_UNKNOWN;
  const std::lock_guard lock(function->mutex);
  function->cluster_occupancy[question] = *answer;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuOccupancyMaxActiveClusters(int* numClusters, CUfunction func, const CUlaunchConfig* config) {
  return ask(CallId::cuOccupancyMaxActiveClusters, func, config, numClusters);
}

CUresult cuOccupancyMaxPotentialClusterSize(int* clusterSize, CUfunction func, const CUlaunchConfig* config) {
  return ask(CallId::cuOccupancyMaxPotentialClusterSize, func, config, clusterSize);
}

}  // namespace sluice::client::calls
