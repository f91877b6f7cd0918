#include "softgpu/launch.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

#include "common/log.h"
#include "softgpu/api.h"
#include "softgpu/event.h"
#include "softgpu/graph/capture.h"
#include "softgpu/graph/node_params.h"
#include "softgpu/recycled.h"

namespace sluice::softgpu {
namespace {

constexpr uint32_t kMaxGridX = 0x7fffffff;
constexpr uint32_t kMaxGridYZ = 65535;
constexpr uint32_t kMaxBlockThreads = 1024;
constexpr uint32_t kMaxBlockZ = 64;
constexpr uint32_t kPortableCluster = 8;
constexpr uint32_t kLargestCluster = 16;

// The parameters of most kernels; larger ones go to the heap.
constexpr size_t kInlineBytes = 512;

int host_threads() {
  static const int count = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return count;
}

class LaunchOperation final : public Operation, public Recycled<LaunchOperation> {
 public:
  LaunchOperation(Function& function, const Launch& what) : function_(function), what_(what) {
    if (function.info.param_bytes > kInlineBytes) large_.resize(function.info.param_bytes);
  }

  std::span<std::byte> parameters() {
    if (!large_.empty()) return large_;
    return {inline_, function_.info.param_bytes};
  }

  CUresult run(Stream& stream) override {
    Context& context = *stream.context;
    ptx::LaunchConfig config;
    config.grid = what_.grid;
    config.block = what_.block;
    config.cluster = what_.cluster;
    config.dynamic_shared_bytes = what_.dynamic_shared_bytes;
    config.cooperative = what_.cooperative;
    config.params = parameters();
    ptx::LaunchEnvironment environment;
    environment.memory = &context;
    environment.threads = host_threads();
    environment.sm_count = static_cast<uint32_t>(context.device.config.sms);
    environment.stack_bytes = context.limits[CU_LIMIT_STACK_SIZE].load(std::memory_order_relaxed);
    bool printed = false;
    environment.print = [&printed](std::string_view text) {
      std::fwrite(text.data(), 1, text.size(), stdout);
      printed = true;
    };
    const ptx::Status status = function_.module.program->launch(function_.index, config, environment);
    if (printed) std::fflush(stdout);
    if (!status.ok()) context.fail(status.code, function_.info.name + ": " + status.message);
    return status.code;
  }
  bool occupies_device() const override { return true; }

 private:
  Function& function_;  // its module waits for the stream before it goes
  const Launch what_;
  std::byte inline_[kInlineBytes];
  std::vector<std::byte> large_;
};

CUresult check_shape(const Function& function, const Launch& what) {
  const ptx::Dim3 &grid = what.grid, &block = what.block;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (grid.x > kMaxGridX || grid.y > kMaxGridYZ || grid.z > kMaxGridYZ) return CUDA_ERROR_INVALID_VALUE;
  if (block.x > kMaxBlockThreads || block.y > kMaxBlockThreads || block.z > kMaxBlockZ) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (threads > kMaxBlockThreads) return CUDA_ERROR_INVALID_VALUE;
  const ptx::KernelInfo& info = function.info;
  const ptx::Dim3& required = info.required_block;
  if (required.x != 0 && (required.x != block.x || required.y != block.y || required.z != block.z)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (threads > info.max_threads) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (what.dynamic_shared_bytes > static_cast<unsigned>(function.max_dynamic_shared())) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult check_cluster(const Function& function, const Launch& what) {
  const ptx::Dim3& cluster = what.cluster;
  const uint64_t blocks = uint64_t{cluster.x} * cluster.y * cluster.z;
  if (blocks == 1) return CUDA_SUCCESS;
  if (function.module.context.device.cc() < 90) return CUDA_ERROR_NOT_SUPPORTED;
  if (blocks == 0 || what.grid.x % cluster.x != 0 || what.grid.y % cluster.y != 0 ||
      what.grid.z % cluster.z != 0) {
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  const uint32_t limit = function.settings.non_portable_cluster != 0 ? kLargestCluster : kPortableCluster;
  return blocks > limit ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
}

CUresult check_cooperative(const Function& function, const Launch& what) {
  if (!what.cooperative) return CUDA_SUCCESS;
  const int threads = static_cast<int>(what.block.x * what.block.y * what.block.z);
  const auto fitting = static_cast<uint64_t>(active_blocks(function, threads, what.dynamic_shared_bytes)) *
                       static_cast<uint64_t>(function.module.context.device.config.sms);
  const uint64_t blocks = uint64_t{what.grid.x} * what.grid.y * what.grid.z;
  return blocks > fitting ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : CUDA_SUCCESS;
}

CUresult copy_parameters(const ptx::KernelInfo& info, void** parameters, void** extra,
                         std::span<std::byte> out) {
  if (parameters != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (info.params.empty()) return CUDA_SUCCESS;
  if (parameters != nullptr) {
    for (size_t i = 0; i < info.params.size(); ++i) {
      if (parameters[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
      std::memcpy(out.data() + info.params[i].offset, parameters[i], info.params[i].size);
    }
    return CUDA_SUCCESS;
  }
  if (extra == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const void* buffer = nullptr;
  const size_t* bytes = nullptr;
  // Pairs of a name and a value; three would name every possible option once.
  for (int i = 0; i < 6 && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = extra[i + 1];
    } else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      bytes = static_cast<const size_t*>(extra[i + 1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (buffer == nullptr || bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ptx::Param& last = info.params.back();
  if (*bytes < last.offset + last.size) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(out.data(), buffer, std::min(*bytes, out.size()));
  return CUDA_SUCCESS;
}

}  // namespace

CUresult find_function(CUfunction handle, Function** out) {
  *out = lookup<Function>(handle);
  if (*out != nullptr) return CUDA_SUCCESS;
  auto* kernel = lookup<Kernel>(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  return kernel->function(*context, out);
}

CUresult check_launch(const Function& function, const Launch& what) {
  SLUICE_TRY(check_shape(function, what));
  SLUICE_TRY(check_cluster(function, what));
  return check_cooperative(function, what);
}

CUresult pack_parameters(const Function& function, void** parameters, void** extra,
                         std::span<std::byte> out) {
  return copy_parameters(function.info, parameters, extra, out);
}

namespace {

CUresult launch_as_node(Function& function, const Launch& what, void** parameters, void** extra, Work* out) {
  CUDA_KERNEL_NODE_PARAMS_v2 given{};
  given.func = function.handle();
  given.gridDimX = what.grid.x;
  given.gridDimY = what.grid.y;
  given.gridDimZ = what.grid.z;
  given.blockDimX = what.block.x;
  given.blockDimY = what.block.y;
  given.blockDimZ = what.block.z;
  given.sharedMemBytes = what.dynamic_shared_bytes;
  given.kernelParams = parameters;
  given.extra = extra;
  SLUICE_TRY(make_kernel_work(given, out));
  auto& attributes = std::get<KernelWork>(*out).attributes;
  if (what.cooperative) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
    attributes.push_back(attribute);
  }
  if (what.cluster.x * what.cluster.y * what.cluster.z > 1) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {what.cluster.x, what.cluster.y, what.cluster.z};
    attributes.push_back(attribute);
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult launch(CUfunction handle, const Launch& what, void** parameters, void** extra) {
  Function* function;
  SLUICE_TRY(find_function(handle, &function));
  Context& context = function->module.context;
  SLUICE_TRY(context.error());
  std::shared_ptr<Stream> stream;
  SLUICE_TRY(context.resolve_stream(what.stream, &stream));
  SLUICE_TRY(check_launch(*function, what));
  Event* completion = nullptr;
  if (what.completion_event != nullptr) {
    completion = lookup<Event>(what.completion_event);
    if (completion == nullptr || &completion->context != &context) return CUDA_ERROR_INVALID_HANDLE;
  }
  CUresult result = CUDA_SUCCESS;
  const auto as_node = [&](Work* work) { return launch_as_node(*function, what, parameters, extra, work); };
  if (captured(*stream, as_node, &result)) return result;
  auto operation = std::make_unique<LaunchOperation>(*function, what);
  SLUICE_TRY(copy_parameters(function->info, parameters, extra, operation->parameters()));
  context.submit(*stream, std::move(operation));
  return completion == nullptr ? CUDA_SUCCESS : completion->record(stream);
}

}  // namespace sluice::softgpu
