// Types, codes and layouts of NVIDIA's management library that this library answers with, as the
// NVML API reference gives them.
#pragma once

#include <cstddef>

extern "C" {

using nvmlDevice_t = struct nvmlDevice_st*;

enum nvmlReturn_t : int {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NO_PERMISSION = 4,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_DRIVER_NOT_LOADED = 9,
  NVML_ERROR_TIMEOUT = 10,
  NVML_ERROR_LIBRARY_NOT_FOUND = 12,
  NVML_ERROR_FUNCTION_NOT_FOUND = 13,
  NVML_ERROR_GPU_IS_LOST = 15,
  NVML_ERROR_OPERATING_SYSTEM = 17,
  NVML_ERROR_MEMORY = 20,
  NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
  NVML_ERROR_UNKNOWN = 999,
};

struct nvmlMemory_t {
  unsigned long long total;  // bytes, as the others
  unsigned long long free;
  unsigned long long used;
};

struct nvmlMemory_v2_t {
  unsigned version;  // size of the structure, and 2 in the highest byte
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};

// The first form of nvmlDeviceGetPciInfo fills only up to pciDeviceId, the second up to pciSubSystemId
// (with four words after it), the third all.
struct nvmlPciInfo_t {
  char busIdLegacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pciDeviceId;
  unsigned pciSubSystemId;
  char busId[32];
};

struct nvmlProcessInfo_v1_t {
  unsigned pid;
  unsigned long long usedGpuMemory;
};

struct nvmlProcessInfo_v2_t {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId;
  unsigned computeInstanceId;
};

struct nvmlUtilization_t {
  unsigned gpu;     // percent of the last sampling time in which a kernel ran
  unsigned memory;  // percent in which memory was read or written
};

struct nvmlTemperature_v1_t {
  unsigned version;  // size of the structure, and 1 in the highest byte
  int sensorType;
  int temperature;  // °C
};

}  // extern "C"
