// Launches and host functions.
#include <memory>

#include "worker/calls/session.h"

namespace sluice::worker::calls {
namespace {

constexpr uint32_t kMaxAttributes = 64;

// Function, stream and shape; the parameters follow, or the attributes.
struct Launch {
  uint32_t function_index = 0;
  uint32_t stream_index = 0;
  CUlaunchConfig config{};
};

Launch read_head(Request& request) {
  wire::Reader& args = request.args;
  const bool wide = (request.flags & wire::kWide) != 0;
  const bool short_one = (request.flags & wire::kShort) != 0;
  Launch launch;
  launch.function_index = args.get<uint32_t>();
  launch.stream_index = short_one ? args.get<uint16_t>() : args.get<uint32_t>();
  CUlaunchConfig& config = launch.config;
  config.sharedMemBytes = args.get<uint32_t>();
  config.gridDimX = args.get<uint32_t>();
  for (unsigned* dimension : {&config.gridDimY, &config.gridDimZ, &config.blockDimX, &config.blockDimY}) {
    *dimension = wide ? args.get<uint32_t>() : args.get<uint16_t>();
  }
  config.blockDimZ = wide ? args.get<uint32_t>() : short_one ? args.get<uint8_t>() : args.get<uint16_t>();
  return launch;
}

// Packed parameters as a driver takes them. The driver copies them before the launch returns.
struct Packed {
  explicit Packed(std::string_view bytes) : size(bytes.size()) {
    extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
    extra[1] = const_cast<char*>(bytes.data());
    extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
    extra[3] = &size;
    extra[4] = CU_LAUNCH_PARAM_END;
  }
  size_t size;
  void* extra[5];
};

}  // namespace

void cuLaunchKernel(Session& session, Request& request) {
  const Launch launch = read_head(request);
  if (request.args.failed()) return session.bad_frame(request);
  Packed parameters(request.args.rest());
  CUfunction function = nullptr;
  CUstream stream = nullptr;
  if (!session.find(launch.function_index, &function) || !session.find(launch.stream_index, &stream)) {
    return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  }
  session.context.counters.launches.fetch_add(1, std::memory_order_relaxed);
  const CUlaunchConfig& c = launch.config;
  session.finish(request, session.driver.cuLaunchKernel(function, c.gridDimX, c.gridDimY, c.gridDimZ,
                                                        c.blockDimX, c.blockDimY, c.blockDimZ,
                                                        c.sharedMemBytes, stream, nullptr, parameters.extra));
}

void cuLaunchKernelEx(Session& session, Request& request) {
  Launch launch = read_head(request);
  wire::Reader& args = request.args;
  const uint32_t count = args.count(kMaxAttributes, sizeof(uint32_t) + sizeof(CUlaunchAttributeValue));
  std::vector<CUlaunchAttribute> attributes(count);
  bool refused = false;
  for (CUlaunchAttribute& attribute : attributes) {
    attribute.id = static_cast<CUlaunchAttributeID>(args.get<uint32_t>());
    if (const uint8_t* value = args.bytes(sizeof attribute.value)) {
      std::memcpy(&attribute.value, value, sizeof attribute.value);
    }
    refused = refused || names_a_handle(attribute.id);
  }
  if (args.failed()) return session.bad_frame(request);
  Packed parameters(args.rest());
  CUfunction function = nullptr;
  if (!session.find(launch.function_index, &function) ||
      !session.find(launch.stream_index, &launch.config.hStream)) {
    return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  }
  if (refused || session.driver.cuLaunchKernelEx == nullptr)
    return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  launch.config.attrs = attributes.data();
  launch.config.numAttrs = count;
  session.context.counters.launches.fetch_add(1, std::memory_order_relaxed);
  session.finish(request,
                 session.driver.cuLaunchKernelEx(&launch.config, function, nullptr, parameters.extra));
}

void cuLaunchHostFunc(Session& session, Request& request) {
  const auto stream_index = request.args.get<uint32_t>();
  const auto number = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUstream stream = nullptr;
  if (!session.find(stream_index, &stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  const auto task = session.host_tasks.add(&session, number, 0);
  if (!task) return session.bad_frame(request);
  auto holder = std::make_unique<std::shared_ptr<HostTask>>(task);
  const CUresult result = session.driver.cuLaunchHostFunc == nullptr
                              ? CUDA_ERROR_NOT_SUPPORTED
                              : session.driver.cuLaunchHostFunc(stream, run_host_task, holder.get());
  if (result == CUDA_SUCCESS) {
    static_cast<void>(holder.release());
  } else {
    session.host_tasks.finish(*task);
  }
  session.finish(request, result);
}

}  // namespace sluice::worker::calls
