// What a software GPU does not have: sensors, clocks, fans, error counters, power limits, partitions. Each of
// these functions takes a device and a place for the answer, and says that it is not supported, which readers
// show as N/A.
#include "softgpu/nvml/state.h"

using namespace sluice::softgpu::nvml;

#define SLUICE_NVML_NOT_SUPPORTED(name)                                \
  SLUICE_NVML name(nvmlDevice_t handle) {                              \
    int index;                                                         \
    const nvmlReturn_t result = device_index(handle, &index);          \
    return result == NVML_SUCCESS ? NVML_ERROR_NOT_SUPPORTED : result; \
  }

// The further arguments are not read, which the calling convention allows.
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetTemperature)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetTemperatureV)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetTemperatureThreshold)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetPowerUsage)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetPowerManagementMode)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetPowerManagementLimit)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetPowerManagementLimitConstraints)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetEnforcedPowerLimit)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetTotalEnergyConsumption)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetPerformanceState)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetFanSpeed)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetFanSpeed_v2)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetNumFans)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetClock)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetClockInfo)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetMaxClockInfo)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetApplicationsClock)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetMemoryBusWidth)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetEccMode)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetTotalEccErrors)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetMemoryErrorCounter)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetRetiredPages)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetMigMode)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetMaxMigDeviceCount)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetPersistenceMode)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetDisplayMode)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetDisplayActive)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetSerial)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetBoardPartNumber)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetVbiosVersion)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetInforomVersion)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetBAR1MemoryInfo)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetPcieThroughput)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetCurrPcieLinkGeneration)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetMaxPcieLinkGeneration)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetCurrPcieLinkWidth)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetMaxPcieLinkWidth)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetEncoderUtilization)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetDecoderUtilization)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetNvLinkState)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetCurrentClocksThrottleReasons)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetProcessUtilization)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetFieldValues)
SLUICE_NVML_NOT_SUPPORTED(nvmlDeviceGetSupportedEventTypes)
