// One software GPU: its configuration, identity, address window and primary context.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/cuda_types.h"
#include "softgpu/config.h"
#include "softgpu/shared_state.h"
#include "softgpu/window.h"

namespace sluice::softgpu {

class Context;
class Pool;

// Limits of a multiprocessor by compute capability, as in the table "Technical Specifications per Compute
// Capability" of the CUDA C++ Programming Guide.
struct SmLimits {
  int threads;
  int blocks;
  int shared_bytes;        // per multiprocessor
  int shared_optin_bytes;  // per block, when asked for
  int reserved_shared_bytes;
  int registers = 65536;
};
SmLimits sm_limits(int cc_major, int cc_minor);

struct Device {
  Device(int index_, const DeviceConfig& config_, const std::string& directory);
  ~Device();

  const int index;
  const DeviceConfig config;
  const CUuuid uuid;
  const SmLimits sm;
  Window window;

  std::mutex primary_mutex;
  std::shared_ptr<Context> primary;  // made on first use, kept for the life of the process
  unsigned primary_references = 0;
  unsigned primary_flags = 0;

  std::unique_ptr<Pool> default_pool;
  CUmemoryPool current_pool = nullptr;

  int cc() const { return config.cc_major * 10 + config.cc_minor; }
};

// CUDA_ERROR_INVALID_VALUE for an attribute that does not exist.
CUresult device_attribute(const Device& device, int attribute, int* value);

// The process's driver state. Never destroyed: libraries call in from their exit handlers.
struct Driver {
  std::unique_ptr<SharedState> shared;
  std::vector<std::unique_ptr<Device>> devices;

  Device* device(CUdevice ordinal) {
    if (ordinal < 0 || static_cast<size_t>(ordinal) >= devices.size()) return nullptr;
    return devices[static_cast<size_t>(ordinal)].get();
  }
};

// cuInit's work, done once.
CUresult initialize();
// Null before a successful cuInit and in the child of a fork.
Driver* driver();

}  // namespace sluice::softgpu
