// What the GPU does now: figures that the server's own management library measures. They are of the whole
// GPU, also where only a part of its memory is granted.
#include <cstring>

#include "nvml/exports.h"

using namespace sluice;
using namespace sluice::nvml;

namespace {

constexpr unsigned kClocks = 4;  // graphics, SM, memory, video
constexpr unsigned kTemperatureV1 = sizeof(nvmlTemperature_v1_t) | 1u << 24;

// The figure under `key`, which is absent where the hardware or its driver has none.
nvmlReturn_t figure(nvmlDevice_t device, const char* key, unsigned* out) {
  const Gpu* gpu = find(device);
  if (!gpu) return why_not_found();
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  const auto figures = inventory().figures(*gpu);
  if (!figures) return NVML_ERROR_GPU_IS_LOST;
  const auto value = (*figures)[key].as_uint();
  if (!value) return NVML_ERROR_NOT_SUPPORTED;
  *out = static_cast<unsigned>(*value);
  return NVML_SUCCESS;
}

nvmlReturn_t clock_figure(nvmlDevice_t device, const char* key, unsigned type, unsigned* out) {
  const Gpu* gpu = find(device);
  if (!gpu) return why_not_found();
  if (!out || type >= kClocks) return NVML_ERROR_INVALID_ARGUMENT;
  const auto figures = inventory().figures(*gpu);
  if (!figures) return NVML_ERROR_GPU_IS_LOST;
  const auto& clocks = (*figures)[key].items();
  const auto value = type < clocks.size() ? clocks[type].as_uint() : std::nullopt;
  if (!value) return NVML_ERROR_NOT_SUPPORTED;
  *out = static_cast<unsigned>(*value);
  return NVML_SUCCESS;
}

}  // namespace

SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* out) {
  if (!out) return find(device) ? NVML_ERROR_INVALID_ARGUMENT : why_not_found();
  if (const nvmlReturn_t error = figure(device, "gpuPercent", &out->gpu)) return error;
  return figure(device, "memoryPercent", &out->memory);
}

SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned sensor,
                                                         unsigned* out) {
  if (sensor != 0) return find(device) ? NVML_ERROR_INVALID_ARGUMENT : why_not_found();
  return figure(device, "celsius", out);
}

SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_v1_t* out) {
  if (!out) return find(device) ? NVML_ERROR_INVALID_ARGUMENT : why_not_found();
  if (out->version != kTemperatureV1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  unsigned celsius = 0;
  const nvmlReturn_t result =
      nvmlDeviceGetTemperature(device, static_cast<unsigned>(out->sensorType), &celsius);
  if (result == NVML_SUCCESS) out->temperature = static_cast<int>(celsius);
  return result;
}

SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* milliwatts) {
  return figure(device, "milliwatts", milliwatts);
}
SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned* milliwatts) {
  return figure(device, "limitMilliwatts", milliwatts);
}
SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned* milliwatts) {
  return figure(device, "limitMilliwatts", milliwatts);
}
SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t device, unsigned* percent) {
  return figure(device, "fanPercent", percent);
}
SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device, unsigned* state) {
  return figure(device, "performanceState", state);
}
SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned type, unsigned* mhz) {
  return clock_figure(device, "clockMhz", type, mhz);
}
SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned type, unsigned* mhz) {
  return clock_figure(device, "maxClockMhz", type, mhz);
}

// Programs of any number may use what is granted, as on a GPU of one's own.
SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, unsigned* mode) {
  if (!find(device)) return why_not_found();
  if (!mode) return NVML_ERROR_INVALID_ARGUMENT;
  *mode = 0;  // NVML_COMPUTEMODE_DEFAULT
  return NVML_SUCCESS;
}
