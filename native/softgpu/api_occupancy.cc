// How many blocks fit: by threads, blocks, registers and shared memory of a multiprocessor, with the
// allocation granularities of compute capability 8.0 and above.
#include <algorithm>

#include "softgpu/api.h"
#include "softgpu/launch.h"

namespace sluice::softgpu {
namespace {

constexpr int kWarp = 32;
constexpr int kRegistersPerStep = 256;  // registers are given to a warp in these steps
constexpr int kWarpsPerStep = 4;        // one scheduler each
constexpr int kSharedPerStep = 128;     // bytes

int rounded(int value, int step) { return (value + step - 1) / step * step; }

}  // namespace

int active_blocks(const Function& function, int block_threads, size_t dynamic_shared_bytes) {
  const Device& device = function.module.context.device;
  const SmLimits& sm = device.sm;
  if (block_threads < 1 || block_threads > static_cast<int>(function.info.max_threads)) return 0;
  const int warps = (block_threads + kWarp - 1) / kWarp;
  int blocks = std::min(sm.blocks, sm.threads / kWarp / warps);
  if (function.info.registers > 0) {
    const int per_warp = rounded(static_cast<int>(function.info.registers) * kWarp, kRegistersPerStep);
    const int fitting_warps = sm.registers / per_warp / kWarpsPerStep * kWarpsPerStep;
    blocks = std::min(blocks, fitting_warps / warps);
  }
  const uint64_t shared = function.info.static_shared_bytes + dynamic_shared_bytes;
  if (shared > static_cast<uint64_t>(sm.shared_optin_bytes)) return 0;
  const int per_block = rounded(static_cast<int>(shared) + sm.reserved_shared_bytes, kSharedPerStep);
  if (per_block > 0) blocks = std::min(blocks, sm.shared_bytes / per_block);
  return blocks;
}

namespace {

CUresult max_active_blocks(int* blocks, CUfunction handle, int threads, size_t shared, unsigned flags) {
  if (blocks == nullptr || threads < 1 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Function* function;
  SLUICE_TRY(find_function(handle, &function));
  *blocks = active_blocks(*function, threads, shared);
  return CUDA_SUCCESS;
}

CUresult best_block(int* min_grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_for,
                    size_t shared, int limit) {
  if (min_grid == nullptr || block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Function* function;
  SLUICE_TRY(find_function(handle, &function));
  const int largest = static_cast<int>(function->info.max_threads);
  const int from = limit <= 0 ? largest : std::min(limit, largest);
  int best_threads = 0;
  *min_grid = *block = 0;
  // From large to small, so that of equals the largest block wins; a limit that is no multiple of a warp
  // counts.
  for (int threads = from; threads > 0; threads = (threads - 1) / kWarp * kWarp) {
    const size_t bytes = shared_for != nullptr ? shared_for(threads) : shared;
    const int blocks = active_blocks(*function, threads, bytes);
    if (blocks * threads <= best_threads) continue;
    best_threads = blocks * threads;
    *block = threads;
    *min_grid = blocks * function->module.context.device.config.sms;
  }
  return CUDA_SUCCESS;
}

CUresult available_shared(size_t* bytes, CUfunction handle, int blocks, int threads) {
  if (bytes == nullptr || blocks < 1 || threads < 1) return CUDA_ERROR_INVALID_VALUE;
  Function* function;
  SLUICE_TRY(find_function(handle, &function));
  if (active_blocks(*function, threads, 0) < blocks) return CUDA_ERROR_INVALID_VALUE;
  const SmLimits& sm = function->module.context.device.sm;
  const int share = sm.shared_bytes / blocks / kSharedPerStep * kSharedPerStep - sm.reserved_shared_bytes;
  const int mine =
      std::min(share, sm.shared_optin_bytes) - static_cast<int>(function->info.static_shared_bytes);
  *bytes = static_cast<size_t>(std::max(0, mine));
  return CUDA_SUCCESS;
}

int cluster_blocks(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    const auto& dim = config.attrs[i].value.clusterDim;
    return static_cast<int>(dim.x * dim.y * dim.z);
  }
  return 1;
}

int config_threads(const CUlaunchConfig& config) {
  return static_cast<int>(config.blockDimX * config.blockDimY * config.blockDimZ);
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                       size_t shared) {
  return api([&] { return max_active_blocks(blocks, function, threads, shared, CU_OCCUPANCY_DEFAULT); });
}
SLUICE_API cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int threads,
                                                                size_t shared, unsigned flags) {
  return api([&] { return max_active_blocks(blocks, function, threads, shared, flags); });
}
SLUICE_API cuOccupancyMaxPotentialBlockSize(int* min_grid, int* block, CUfunction function,
                                            CUoccupancyB2DSize shared_for, size_t shared, int limit) {
  return api([&] { return best_block(min_grid, block, function, shared_for, shared, limit); });
}
SLUICE_API cuOccupancyMaxPotentialBlockSizeWithFlags(int* min_grid, int* block, CUfunction function,
                                                     CUoccupancyB2DSize shared_for, size_t shared, int limit,
                                                     unsigned flags) {
  return api([&]() -> CUresult {
    if (flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) return CUDA_ERROR_INVALID_VALUE;
    return best_block(min_grid, block, function, shared_for, shared, limit);
  });
}
SLUICE_API cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction function, int blocks,
                                                   int threads) {
  return api([&] { return available_shared(bytes, function, blocks, threads); });
}
SLUICE_API cuOccupancyMaxActiveClusters(int* clusters, CUfunction handle, const CUlaunchConfig* config) {
  return api([&]() -> CUresult {
    if (clusters == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Function* function;
    SLUICE_TRY(find_function(handle, &function));
    const int size = cluster_blocks(*config);
    if (size < 1) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    const int per_sm = active_blocks(*function, config_threads(*config), config->sharedMemBytes);
    *clusters = per_sm * function->module.context.device.config.sms / size;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuOccupancyMaxPotentialClusterSize(int* size, CUfunction handle, const CUlaunchConfig* config) {
  return api([&]() -> CUresult {
    if (size == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Function* function;
    SLUICE_TRY(find_function(handle, &function));
    *size = function->settings.non_portable_cluster != 0 ? 16 : 8;
    return CUDA_SUCCESS;
  });
}

namespace sluice::softgpu {

std::span<const Entry> occupancy_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050,
                   cuOccupancyMaxActiveBlocksPerMultiprocessor),
      SLUICE_ENTRY("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 7000,
                   cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags),
      SLUICE_ENTRY("cuOccupancyMaxPotentialBlockSize", 6050, cuOccupancyMaxPotentialBlockSize),
      SLUICE_ENTRY("cuOccupancyMaxPotentialBlockSizeWithFlags", 7000,
                   cuOccupancyMaxPotentialBlockSizeWithFlags),
      SLUICE_ENTRY("cuOccupancyAvailableDynamicSMemPerBlock", 10020, cuOccupancyAvailableDynamicSMemPerBlock),
      SLUICE_ENTRY("cuOccupancyMaxActiveClusters", 11070, cuOccupancyMaxActiveClusters),
      SLUICE_ENTRY("cuOccupancyMaxPotentialClusterSize", 11070, cuOccupancyMaxPotentialClusterSize),
  };
  return entries;
}

}  // namespace sluice::softgpu
