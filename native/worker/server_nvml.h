// The management library of this server, for figures that only it has: utilization, temperature, power.
#pragma once

#include <string>

#include "common/json.h"

namespace sluice::worker {

class ServerNvml {
 public:
  // Loads the libnvidia-ml.so.1 that belongs to the driver at `driver_path`: the one beside it, else the
  // system's. Without one there are no figures.
  explicit ServerNvml(const std::string& driver_path);

  // NVIDIA's name of the driver's release, such as "580.65.06"; empty when unknown.
  std::string driver_release() const;
  // {"gpuPercent", "memoryPercent", "celsius", "milliwatts", "limitMilliwatts", "fanPercent",
  // "performanceState", "clockMhz": [graphics, SM, memory, video], "maxClockMhz": [same]}: what the library
  // knows of the GPU now. What it does not know is absent, in the arrays null.
  json::Value figures(const std::string& uuid) const;

 private:
  template <typename Function>
  Function find(const char* name) const;

  void* library_ = nullptr;
};

}  // namespace sluice::worker
