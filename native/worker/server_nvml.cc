#include "worker/server_nvml.h"

#include <dlfcn.h>

#include <filesystem>

#include "common/log.h"

namespace sluice::worker {
namespace {

// As the NVML API reference gives them.
constexpr int kSuccess = 0;
constexpr int kTemperatureOfGpu = 0;
constexpr int kClocks = 4;  // graphics, SM, memory, video
using Device = void*;
struct Utilization {
  unsigned gpu;
  unsigned memory;
};

std::string library_of(const std::string& driver_path) {
  std::error_code error;
  const auto beside = std::filesystem::path(driver_path).parent_path() / "libnvidia-ml.so.1";
  return driver_path.find('/') != std::string::npos && std::filesystem::exists(beside, error)
             ? beside.string()
             : "libnvidia-ml.so.1";
}

}  // namespace

template <typename Function>
Function ServerNvml::find(const char* name) const {
  return library_ ? reinterpret_cast<Function>(::dlsym(library_, name)) : nullptr;
}

ServerNvml::ServerNvml(const std::string& driver_path) {
  // Never closed: it lives as long as the process.
  library_ = ::dlopen(library_of(driver_path).c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto initialize = find<int (*)()>("nvmlInit_v2");
  if (initialize != nullptr && initialize() == kSuccess) return;
  SLUICE_INFO("The management library of this server cannot be used: there are no utilization figures.");
  library_ = nullptr;
}

std::string ServerNvml::driver_release() const {
  const auto ask = find<int (*)(char*, unsigned)>("nvmlSystemGetDriverVersion");
  char text[96] = "";
  return ask && ask(text, sizeof text) == kSuccess ? text : "";
}

json::Value ServerNvml::figures(const std::string& uuid) const {
  json::Value found = json::Value::object();
  Device device = nullptr;
  const auto handle = find<int (*)(const char*, Device*)>("nvmlDeviceGetHandleByUUID");
  if (handle == nullptr || handle(uuid.c_str(), &device) != kSuccess) return found;

  Utilization utilization{};
  const auto rates = find<int (*)(Device, Utilization*)>("nvmlDeviceGetUtilizationRates");
  if (rates != nullptr && rates(device, &utilization) == kSuccess) {
    found.set("gpuPercent", uint64_t{utilization.gpu});
    found.set("memoryPercent", uint64_t{utilization.memory});
  }
  unsigned value = 0;
  const auto temperature = find<int (*)(Device, int, unsigned*)>("nvmlDeviceGetTemperature");
  if (temperature != nullptr && temperature(device, kTemperatureOfGpu, &value) == kSuccess) {
    found.set("celsius", uint64_t{value});
  }
  const auto add = [&](const char* key, const char* function) {
    const auto ask = find<int (*)(Device, unsigned*)>(function);
    if (ask != nullptr && ask(device, &value) == kSuccess) found.set(key, uint64_t{value});
  };
  add("milliwatts", "nvmlDeviceGetPowerUsage");
  add("limitMilliwatts", "nvmlDeviceGetEnforcedPowerLimit");
  add("fanPercent", "nvmlDeviceGetFanSpeed");
  add("performanceState", "nvmlDeviceGetPerformanceState");
  const auto add_clocks = [&](const char* key, const char* function) {
    const auto ask = find<int (*)(Device, int, unsigned*)>(function);
    json::Value clocks = json::Value::array();
    bool any = false;
    for (int clock = 0; clock < kClocks; clock++) {
      const bool known = ask != nullptr && ask(device, clock, &value) == kSuccess;
      any = any || known;
      clocks.push(known ? json::Value(uint64_t{value}) : json::Value());
    }
    if (any) found.set(key, std::move(clocks));
  };
  add_clocks("clockMhz", "nvmlDeviceGetClockInfo");
  add_clocks("maxClockMhz", "nvmlDeviceGetMaxClockInfo");
  return found;
}

}  // namespace sluice::worker
