// The exported ways to launch.
#include <cstring>

#include "softgpu/api.h"
#include "softgpu/launch.h"

namespace sluice::softgpu {
namespace {

CUresult launch_plain(CUfunction function, ptx::Dim3 grid, ptx::Dim3 block, unsigned shared, CUstream stream,
                      void** parameters, void** extra, bool cooperative) {
  Launch what;
  what.grid = grid;
  what.block = block;
  what.dynamic_shared_bytes = shared;
  what.cooperative = cooperative;
  what.stream = stream;
  return launch(function, what, parameters, extra);
}

CUresult launch_configured(const CUlaunchConfig* config, CUfunction function, CUstream stream,
                           void** parameters, void** extra) {
  if (config == nullptr || (config->numAttrs > 0 && config->attrs == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  Launch what;
  what.grid = {config->gridDimX, config->gridDimY, config->gridDimZ};
  what.block = {config->blockDimX, config->blockDimY, config->blockDimZ};
  what.dynamic_shared_bytes = config->sharedMemBytes;
  what.stream = stream;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    switch (attribute.id) {
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        what.cooperative = attribute.value.cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        what.cluster = {attribute.value.clusterDim.x, attribute.value.clusterDim.y,
                        attribute.value.clusterDim.z};
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
      case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        // The value begins with the event; the kernel's end comes no earlier than either asks.
        std::memcpy(&what.completion_event, attribute.value.pad, sizeof(what.completion_event));
        break;
      case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        return CUDA_ERROR_NOT_SUPPORTED;
      default:
        break;  // hints on scheduling and caches
    }
  }
  return launch(function, what, parameters, extra);
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API_PAIR(cuLaunchKernel, _ptsz,
                (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                 unsigned bz, unsigned shared, CUstream stream, void** parameters, void** extra),
                return launch_plain(function, {gx, gy, gz}, {bx, by, bz}, shared, pick(stream), parameters,
                                    extra, false);)
SLUICE_API_PAIR(cuLaunchCooperativeKernel, _ptsz,
                (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                 unsigned bz, unsigned shared, CUstream stream, void** parameters),
                return launch_plain(function, {gx, gy, gz}, {bx, by, bz}, shared, pick(stream), parameters,
                                    nullptr, true);)
SLUICE_API_PAIR(cuLaunchKernelEx, _ptsz,
                (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra),
                return launch_configured(config, function,
                                         pick(config == nullptr ? nullptr : config->hStream), parameters,
                                         extra);)

namespace sluice::softgpu {

std::span<const Entry> launch_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY_PAIR("cuLaunchKernel", 4000, cuLaunchKernel, _ptsz),
      SLUICE_ENTRY_PAIR("cuLaunchCooperativeKernel", 9000, cuLaunchCooperativeKernel, _ptsz),
      SLUICE_ENTRY_PAIR("cuLaunchKernelEx", 11060, cuLaunchKernelEx, _ptsz),
  };
  return entries;
}

}  // namespace sluice::softgpu
