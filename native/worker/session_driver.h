// The CUDA driver inside a session process: loaded late, never in the listener.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/json.h"
#include "common/result.h"
#include "generated/driver_table.h"
#include "worker/session.h"

namespace sluice::worker {

struct DriverDevice {
  CUdevice device = 0;
  std::string uuid;  // "GPU-…"
  uint64_t total_bytes = 0;
};

class SessionDriver {
 public:
  // Loads the library and initializes it. The sentence in a failure names the library and the error.
  static Result<SessionDriver> open(const std::string& path);

  int version() const { return version_; }
  const std::vector<DriverDevice>& devices() const { return devices_; }
  generated::DriverTable& table() { return *table_; }
  // What the hello tells about a device, as JSON.
  json::Value snapshot(const DriverDevice& device, const CallServer& calls);

 private:
  std::unique_ptr<generated::DriverTable> table_ = std::make_unique<generated::DriverTable>();
  int version_ = 0;
  std::vector<DriverDevice> devices_;
};

// "GPU-" and the UUID in the form 8-4-4-4-12, as NVML prints it.
std::string format_uuid(const CUuuid& uuid);

}  // namespace sluice::worker
