// Devices: handles, identity, memory and processes.
#include <cstdio>
#include <cstring>
#include <string>

#include "nvml/exports.h"

using namespace sluice::nvml;

namespace sluice::nvml {

// A handle is the GPU's place in the list, counted from one: nothing that a program passes is followed.
const Gpu* find(nvmlDevice_t handle) {
  const size_t number = reinterpret_cast<size_t>(handle);
  const auto& gpus = inventory().gpus();
  return inventory().initialized() && number >= 1 && number <= gpus.size() ? &gpus[number - 1] : nullptr;
}

nvmlReturn_t why_not_found() {
  return inventory().initialized() ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_UNINITIALIZED;
}

}  // namespace sluice::nvml

namespace {

constexpr unsigned kMemoryV2 = sizeof(nvmlMemory_v2_t) | 2u << 24;
constexpr unsigned kNoInstance = 0xFFFFFFFF;  // what NVML says where there is no MIG

nvmlDevice_t handle_of(size_t index) { return reinterpret_cast<nvmlDevice_t>(index + 1); }

nvmlReturn_t count(unsigned* out) {
  if (!inventory().initialized()) return NVML_ERROR_UNINITIALIZED;
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  *out = static_cast<unsigned>(inventory().gpus().size());
  return NVML_SUCCESS;
}

nvmlReturn_t by_index(unsigned index, nvmlDevice_t* out) {
  if (!inventory().initialized()) return NVML_ERROR_UNINITIALIZED;
  if (!out || index >= inventory().gpus().size()) return NVML_ERROR_INVALID_ARGUMENT;
  *out = handle_of(index);
  return NVML_SUCCESS;
}

std::string bus_id(const Gpu& gpu, const char* format) {
  char text[32];
  std::snprintf(text, sizeof text, format, *gpu.pci_domain, *gpu.pci_bus, gpu.pci_device.value_or(0));
  return text;
}

// NVML accepts the domain with four or eight digits, either case.
bool same_bus_id(const Gpu& gpu, const char* wanted) {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  return std::sscanf(wanted, "%x:%x:%x", &domain, &bus, &device) == 3 && gpu.pci_domain == domain &&
         gpu.pci_bus == bus && gpu.pci_device == device;
}

nvmlReturn_t by_bus_id(const char* wanted, nvmlDevice_t* out) {
  if (!inventory().initialized()) return NVML_ERROR_UNINITIALIZED;
  if (!wanted || !out) return NVML_ERROR_INVALID_ARGUMENT;
  const auto& gpus = inventory().gpus();
  for (size_t i = 0; i < gpus.size(); i++) {
    if (!same_bus_id(gpus[i], wanted)) continue;
    *out = handle_of(i);
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

// `size`: how much of the structure the called version of the function knows.
nvmlReturn_t pci_info(nvmlDevice_t device, nvmlPciInfo_t* out, size_t size) {
  const Gpu* gpu = find(device);
  if (!gpu) return why_not_found();
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  if (!gpu->pci_domain || !gpu->pci_bus) return NVML_ERROR_NOT_SUPPORTED;
  nvmlPciInfo_t info{};
  info.domain = *gpu->pci_domain;
  info.bus = *gpu->pci_bus;
  info.device = gpu->pci_device.value_or(0);
  copy_text(bus_id(*gpu, "%04X:%02X:%02X.0"), info.busIdLegacy, sizeof info.busIdLegacy);
  copy_text(bus_id(*gpu, "%08X:%02X:%02X.0"), info.busId, sizeof info.busId);
  std::memcpy(out, &info, size);
  return NVML_SUCCESS;
}

// Fills `*number` processes as NVML does: with too little room it only says how many there are.
template <typename Info>
nvmlReturn_t processes(nvmlDevice_t device, unsigned* number, Info* out) {
  const Gpu* gpu = find(device);
  if (!gpu) return why_not_found();
  if (!number || (*number > 0 && !out)) return NVML_ERROR_INVALID_ARGUMENT;
  const auto memory = inventory().memory(*gpu);
  if (!memory) return NVML_ERROR_GPU_IS_LOST;
  const size_t room = *number;
  *number = static_cast<unsigned>(memory->processes.size());
  if (memory->processes.size() > room) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (size_t i = 0; i < memory->processes.size(); i++) {
    Info info{};
    info.pid = static_cast<unsigned>(memory->processes[i].pid);
    info.usedGpuMemory = memory->processes[i].used_bytes;
    if constexpr (requires { info.gpuInstanceId; }) {
      info.gpuInstanceId = kNoInstance;
      info.computeInstanceId = kNoInstance;
    }
    out[i] = info;
  }
  return NVML_SUCCESS;
}

// Sluice carries no graphics and no MPS: there are none.
nvmlReturn_t no_processes(nvmlDevice_t device, unsigned* number) {
  if (!find(device)) return why_not_found();
  if (!number) return NVML_ERROR_INVALID_ARGUMENT;
  *number = 0;
  return NVML_SUCCESS;
}

}  // namespace

SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetCount(unsigned* out) { return count(out); }
SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* out) { return count(out); }
SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* out) {
  return by_index(index, out);
}
SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* out) {
  return by_index(index, out);
}
SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* id, nvmlDevice_t* out) {
  return by_bus_id(id, out);
}
SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* id, nvmlDevice_t* out) {
  return by_bus_id(id, out);
}

SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* out) {
  if (!inventory().initialized()) return NVML_ERROR_UNINITIALIZED;
  if (!uuid || !out) return NVML_ERROR_INVALID_ARGUMENT;
  const auto& gpus = inventory().gpus();
  for (size_t i = 0; i < gpus.size(); i++) {
    if (gpus[i].uuid != uuid) continue;
    *out = handle_of(i);
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* index) {
  const Gpu* gpu = find(device);
  if (!gpu) return why_not_found();
  if (!index) return NVML_ERROR_INVALID_ARGUMENT;
  *index = static_cast<unsigned>(gpu - inventory().gpus().data());
  return NVML_SUCCESS;
}

SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
  const Gpu* gpu = find(device);
  return gpu ? copy_text(gpu->name, name, length) : why_not_found();
}

SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
  const Gpu* gpu = find(device);
  return gpu ? copy_text(gpu->uuid, uuid, length) : why_not_found();
}

SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* out) {
  const Gpu* gpu = find(device);
  if (!gpu) return why_not_found();
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  const auto memory = inventory().memory(*gpu);
  if (!memory) return NVML_ERROR_GPU_IS_LOST;
  *out = {memory->total_bytes, memory->total_bytes - memory->used_bytes, memory->used_bytes};
  return NVML_SUCCESS;
}

SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* out) {
  const Gpu* gpu = find(device);
  if (!gpu) return why_not_found();
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  if (out->version != kMemoryV2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  const auto memory = inventory().memory(*gpu);
  if (!memory) return NVML_ERROR_GPU_IS_LOST;
  // The driver's own reserve is not part of what was granted.
  *out = {kMemoryV2, memory->total_bytes, 0, memory->total_bytes - memory->used_bytes, memory->used_bytes};
  return NVML_SUCCESS;
}

SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major,
                                                                   int* minor) {
  const Gpu* gpu = find(device);
  if (!gpu) return why_not_found();
  if (!major || !minor) return NVML_ERROR_INVALID_ARGUMENT;
  if (!gpu->cc_major || !gpu->cc_minor) return NVML_ERROR_NOT_SUPPORTED;
  *major = *gpu->cc_major;
  *minor = *gpu->cc_minor;
  return NVML_SUCCESS;
}

SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t* out) {
  return pci_info(device, out, offsetof(nvmlPciInfo_t, pciSubSystemId));
}
SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t* out) {
  return pci_info(device, out, offsetof(nvmlPciInfo_t, busId));
}
SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* out) {
  return pci_info(device, out, sizeof *out);
}

SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned* number,
                                                                     nvmlProcessInfo_v1_t* out) {
  return processes(device, number, out);
}
SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned* number,
                                                                        nvmlProcessInfo_v2_t* out) {
  return processes(device, number, out);
}
SLUICE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* number,
                                                                        nvmlProcessInfo_v2_t* out) {
  return processes(device, number, out);
}

#define SLUICE_NO_PROCESSES(function)                                                      \
  SLUICE_NVML_EXPORT nvmlReturn_t function(nvmlDevice_t device, unsigned* number, void*) { \
    return no_processes(device, number);                                                   \
  }
SLUICE_NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses)
SLUICE_NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2)
SLUICE_NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3)
SLUICE_NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses)
SLUICE_NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2)
SLUICE_NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3)
