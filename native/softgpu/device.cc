#include "softgpu/device.h"

#include <pthread.h>

#include <mutex>

#include "common/log.h"
#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/pool.h"

namespace sluice::softgpu {
namespace {

constexpr int KiB = 1024;

std::atomic<Driver*> initialized{nullptr};
std::atomic<bool> forked{false};

}  // namespace

SmLimits sm_limits(int cc_major, int cc_minor) {
  const int cc = cc_major * 10 + cc_minor;
  if (cc >= 120) return {1536, 24, 100 * KiB, 99 * KiB, KiB};
  if (cc >= 110) return {1536, 24, 228 * KiB, 227 * KiB, KiB};
  if (cc >= 90) return {2048, 32, 228 * KiB, 227 * KiB, KiB};
  if (cc == 89) return {1536, 24, 100 * KiB, 99 * KiB, KiB};
  if (cc == 87) return {1536, 16, 164 * KiB, 163 * KiB, KiB};
  if (cc == 86) return {1536, 16, 100 * KiB, 99 * KiB, KiB};
  if (cc >= 80) return {2048, 32, 164 * KiB, 163 * KiB, KiB};
  if (cc >= 75) return {1024, 16, 64 * KiB, 64 * KiB, 0};
  if (cc >= 70) return {2048, 32, 96 * KiB, 96 * KiB, 0};
  if (cc == 60 || cc == 50) return {2048, 32, 64 * KiB, 48 * KiB, 0};
  return {2048, 32, 96 * KiB, 48 * KiB, 0};
}

Device::Device(int index_, const DeviceConfig& config_, const std::string& directory)
    : index(index_),
      config(config_),
      uuid(device_uuid(directory, index_)),
      sm(sm_limits(config_.cc_major, config_.cc_minor)),
      window(index_),
      default_pool(std::make_unique<Pool>(*this)) {
  current_pool = default_pool->handle();
}

Device::~Device() = default;

CUresult initialize() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (forked.load()) return CUDA_ERROR_NOT_INITIALIZED;
  if (initialized.load() != nullptr) return CUDA_SUCCESS;
  if (!config().error.empty()) {
    SLUICE_ERROR("%s", config().error.c_str());
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto created = std::make_unique<Driver>();
  std::string error;
  const std::string directory = state_directory();
  created->shared = SharedState::open(directory, &error);
  for (int i = 0; error.empty() && i < static_cast<int>(config().devices.size()); ++i) {
    auto device = std::make_unique<Device>(i, config().devices[static_cast<size_t>(i)], directory);
    error = device->window.reserve();
    created->devices.push_back(std::move(device));
  }
  if (!error.empty()) {
    SLUICE_ERROR("%s", error.c_str());
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  // Threads and locks do not survive a fork; the child gets NOT_INITIALIZED, as from a real driver.
  pthread_atfork(nullptr, nullptr, [] { forked.store(true); });
  initialized.store(created.release(), std::memory_order_release);
  return CUDA_SUCCESS;
}

Driver* driver() {
  return forked.load(std::memory_order_relaxed) ? nullptr : initialized.load(std::memory_order_acquire);
}

CUresult check_initialized() { return driver() == nullptr ? CUDA_ERROR_NOT_INITIALIZED : CUDA_SUCCESS; }

}  // namespace sluice::softgpu
