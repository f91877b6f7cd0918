// What is known of one device.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "softgpu/nvml/state.h"

namespace sluice::softgpu::nvml {
namespace {

constexpr unsigned kNoInstance = 0xffffffff;  // not partitioned
constexpr unsigned kComputeModeDefault = 0;
constexpr unsigned kBrandUnknown = 0;

// NVML_DEVICE_ARCH_*: by compute capability.
unsigned architecture(int cc_major, int cc_minor) {
  if (cc_major >= 10) return 10;  // Blackwell
  if (cc_major == 9) return 9;    // Hopper
  if (cc_major == 8) return cc_minor == 9 ? 8 : 7;
  if (cc_major == 7) return cc_minor >= 5 ? 6 : 5;
  return cc_major == 6 ? 4 : 3;
}

// Arithmetic units per multiprocessor, as such devices have them.
unsigned cores_per_sm(int cc_major, int cc_minor) {
  if (cc_major == 7 || (cc_major == 8 && cc_minor == 0) || (cc_major == 6 && cc_minor == 0)) return 64;
  return 128;
}

template <typename Info>
void fill(Info& out, const ProcessUse& use) {
  out.pid = static_cast<unsigned>(use.pid);
  out.usedGpuMemory = use.used_bytes;
  if constexpr (requires { out.gpuInstanceId; }) {
    out.gpuInstanceId = kNoInstance;
    out.computeInstanceId = kNoInstance;
  }
}

// *count is the room on entry and the number of processes on return.
template <typename Info>
nvmlReturn_t running_processes(nvmlDevice_t handle, unsigned* count, Info* infos) {
  int index;
  if (const nvmlReturn_t result = device_index(handle, &index); result != NVML_SUCCESS) return result;
  if (count == nullptr || (*count > 0 && infos == nullptr)) return NVML_ERROR_INVALID_ARGUMENT;
  std::vector<ProcessUse> uses = shared()->processes(index);
  std::erase_if(uses, [](const ProcessUse& use) { return !use.has_context; });
  const auto found = static_cast<unsigned>(uses.size());
  const bool fits = found <= *count;
  for (unsigned i = 0; fits && i < found; ++i) fill(infos[i], uses[i]);
  *count = found;
  return fits ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

template <typename T, typename Value>
nvmlReturn_t answer(nvmlDevice_t handle, T* out, Value&& value) {
  int index;
  if (const nvmlReturn_t result = device_index(handle, &index); result != NVML_SUCCESS) return result;
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *out = static_cast<T>(value(index, config().devices[static_cast<size_t>(index)]));
  return NVML_SUCCESS;
}

}  // namespace
}  // namespace sluice::softgpu::nvml

using namespace sluice::softgpu;
using namespace sluice::softgpu::nvml;

SLUICE_NVML nvmlDeviceGetName(nvmlDevice_t handle, char* name, unsigned bytes) {
  int index;
  if (const nvmlReturn_t result = device_index(handle, &index); result != NVML_SUCCESS) return result;
  return copy_text(kDeviceName, name, bytes);
}

SLUICE_NVML nvmlDeviceGetUUID(nvmlDevice_t handle, char* uuid, unsigned bytes) {
  int index;
  if (const nvmlReturn_t result = device_index(handle, &index); result != NVML_SUCCESS) return result;
  return copy_text(uuid_text(device_uuid(state_directory(), index)).c_str(), uuid, bytes);
}

SLUICE_NVML nvmlDeviceGetIndex(nvmlDevice_t handle, unsigned* out) {
  return answer(handle, out, [](int index, const DeviceConfig&) { return index; });
}
SLUICE_NVML nvmlDeviceGetMinorNumber(nvmlDevice_t handle, unsigned* out) {
  return answer(handle, out, [](int index, const DeviceConfig&) { return index; });
}
SLUICE_NVML nvmlDeviceGetBrand(nvmlDevice_t handle, unsigned* out) {
  return answer(handle, out, [](int, const DeviceConfig&) { return kBrandUnknown; });
}
SLUICE_NVML nvmlDeviceGetComputeMode(nvmlDevice_t handle, unsigned* out) {
  return answer(handle, out, [](int, const DeviceConfig&) { return kComputeModeDefault; });
}
SLUICE_NVML nvmlDeviceGetArchitecture(nvmlDevice_t handle, unsigned* out) {
  return answer(handle, out, [](int, const DeviceConfig& device) {
    return architecture(device.cc_major, device.cc_minor);
  });
}
SLUICE_NVML nvmlDeviceGetNumGpuCores(nvmlDevice_t handle, unsigned* out) {
  return answer(handle, out, [](int, const DeviceConfig& device) {
    return static_cast<unsigned>(device.sms) * cores_per_sm(device.cc_major, device.cc_minor);
  });
}

SLUICE_NVML nvmlDeviceGetCudaComputeCapability(nvmlDevice_t handle, int* major, int* minor) {
  if (minor == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const nvmlReturn_t result =
      answer(handle, major, [](int, const DeviceConfig& device) { return device.cc_major; });
  if (result != NVML_SUCCESS) return result;
  return answer(handle, minor, [](int, const DeviceConfig& device) { return device.cc_minor; });
}

SLUICE_NVML nvmlDeviceGetMemoryInfo(nvmlDevice_t handle, nvmlMemory_t* out) {
  return answer(handle, out, [](int index, const DeviceConfig& device) {
    const uint64_t used = std::min(shared()->used_bytes(index), device.memory_bytes);
    return nvmlMemory_t{device.memory_bytes, device.memory_bytes - used, used};
  });
}

SLUICE_NVML nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t handle, nvmlMemory_v2_t* out) {
  if (out != nullptr && out->version != NVML_MEMORY_V2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  return answer(handle, out, [](int index, const DeviceConfig& device) {
    const uint64_t used = std::min(shared()->used_bytes(index), device.memory_bytes);
    return nvmlMemory_v2_t{NVML_MEMORY_V2, device.memory_bytes, 0, device.memory_bytes - used, used};
  });
}

// How often memory is touched is not measured. The structure has no room for "not known"; a caller that wants
// to tell them apart finds nvmlDeviceGetMemoryBusWidth and the memory clocks not supported.
SLUICE_NVML nvmlDeviceGetUtilizationRates(nvmlDevice_t handle, nvmlUtilization_t* out) {
  return answer(handle, out, [](int index, const DeviceConfig&) {
    return nvmlUtilization_t{static_cast<unsigned>(shared()->utilization(index) * 100.0 + 0.5), 0};
  });
}

SLUICE_NVML nvmlDeviceGetPciInfo_v3(nvmlDevice_t handle, nvmlPciInfo_t* out) {
  return answer(handle, out, [](int index, const DeviceConfig&) {
    nvmlPciInfo_t info{};
    const std::string id = pci_bus_id(index);
    std::snprintf(info.busIdLegacy, sizeof(info.busIdLegacy), "%s", id.c_str());
    std::snprintf(info.busId, sizeof(info.busId), "0000%s", id.c_str());
    info.bus = static_cast<unsigned>(pci_bus(index));
    return info;
  });
}
SLUICE_NVML nvmlDeviceGetPciInfo_v2(nvmlDevice_t handle, nvmlPciInfo_t* out) {
  return nvmlDeviceGetPciInfo_v3(handle, out);
}
SLUICE_NVML nvmlDeviceGetPciInfo(nvmlDevice_t handle, nvmlPciInfo_t* out) {
  return nvmlDeviceGetPciInfo_v3(handle, out);
}

SLUICE_NVML nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t handle, unsigned* count,
                                                 nvmlProcessInfo_v1_t* infos) {
  return running_processes(handle, count, infos);
}
SLUICE_NVML nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t handle, unsigned* count,
                                                    nvmlProcessInfo_v2_t* infos) {
  return running_processes(handle, count, infos);
}
SLUICE_NVML nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t handle, unsigned* count,
                                                    nvmlProcessInfo_v2_t* infos) {
  return running_processes(handle, count, infos);
}

// There is nothing to draw with.
SLUICE_NVML nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t handle, unsigned* count,
                                                     nvmlProcessInfo_v2_t*) {
  return answer(handle, count, [](int, const DeviceConfig&) { return 0u; });
}
