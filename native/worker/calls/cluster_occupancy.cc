// Questions about clusters: the configuration of a launch is rebuilt.
#include <cstring>
#include <vector>

#include "worker/calls/session.h"

namespace sluice::worker::calls {
namespace {

constexpr uint32_t kMaxAttributes = 64;

template <typename Ask>
void answer(Session& session, Request& request, Ask ask) {
  wire::Reader& args = request.args;
  const auto function_index = args.get<uint32_t>();
  const auto stream_index = args.get<uint32_t>();
  CUlaunchConfig config{};
  for (unsigned* value : {&config.gridDimX, &config.gridDimY, &config.gridDimZ, &config.blockDimX,
                          &config.blockDimY, &config.blockDimZ, &config.sharedMemBytes}) {
    *value = args.get<uint32_t>();
  }
  const uint32_t count = args.count(kMaxAttributes, sizeof(uint32_t) + sizeof(CUlaunchAttributeValue));
  std::vector<CUlaunchAttribute> attributes;
  for (uint32_t i = 0; i < count; i++) {
    CUlaunchAttribute attribute{};
    attribute.id = static_cast<CUlaunchAttributeID>(args.get<uint32_t>());
    const uint8_t* value = args.bytes(sizeof attribute.value);
    if (value == nullptr) break;
    std::memcpy(&attribute.value, value, sizeof attribute.value);
    // The others say nothing about what fits, and some name objects.
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION ||
        attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE ||
        attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
      attributes.push_back(attribute);
  }
  if (!args.finished()) return session.bad_frame(request);
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  CUfunction function = nullptr;
  if (!session.find(function_index, &function) || !session.find(stream_index, &config.hStream))
    return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (ask == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  int number = 0;
  const CUresult result = ask(&number, function, &config);
  wire::Writer reply;
  if (result == CUDA_SUCCESS) reply.put(int32_t{number});
  session.finish(request, result, reply);
}

}  // namespace

void cuOccupancyMaxActiveClusters(Session& session, Request& request) {
  answer(session, request, session.driver.cuOccupancyMaxActiveClusters);
}

void cuOccupancyMaxPotentialClusterSize(Session& session, Request& request) {
  answer(session, request, session.driver.cuOccupancyMaxPotentialClusterSize);
}

}  // namespace sluice::worker::calls
