// Initialisation, the system, errors, and finding devices.
#include <strings.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>

#include "common/log.h"
#include "softgpu/nvml/state.h"

namespace sluice::softgpu::nvml {
namespace {

constexpr const char* kDriverText = "580.0.0-sluice";  // the branch of drivers that has CUDA 13.0
constexpr const char* kNvmlText = "13.580.0";

std::mutex mutex;
int references = 0;
// Kept after a shutdown: another thread may still be reading.
SharedState* state = nullptr;

// Handles are addresses in this array, so that any other value is recognised.
char handles[kMaxDevices];

struct ErrorText {
  nvmlReturn_t code;
  const char* text;
};
constexpr ErrorText kErrors[] = {
    {NVML_SUCCESS, "Success"},
    {NVML_ERROR_UNINITIALIZED, "Uninitialized"},
    {NVML_ERROR_INVALID_ARGUMENT, "Invalid Argument"},
    {NVML_ERROR_NOT_SUPPORTED, "Not Supported"},
    {NVML_ERROR_NO_PERMISSION, "Insufficient Permissions"},
    {NVML_ERROR_ALREADY_INITIALIZED, "Already Initialized"},
    {NVML_ERROR_NOT_FOUND, "Not Found"},
    {NVML_ERROR_INSUFFICIENT_SIZE, "Insufficient Size"},
    {NVML_ERROR_INSUFFICIENT_POWER, "Insufficient External Power"},
    {NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded"},
    {NVML_ERROR_TIMEOUT, "Timeout"},
    {NVML_ERROR_LIBRARY_NOT_FOUND, "NVML Shared Library Not Found"},
    {NVML_ERROR_FUNCTION_NOT_FOUND, "Function Not Found"},
    {NVML_ERROR_GPU_IS_LOST, "GPU is lost"},
    {NVML_ERROR_OPERATING_SYSTEM, "Blocked by the operating system"},
    {NVML_ERROR_MEMORY, "Insufficient Memory"},
    {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "Argument version mismatch"},
    {NVML_ERROR_UNKNOWN, "Unknown Error"},
};

nvmlReturn_t version_number(int* version) {
  if (version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *version = kDriverVersion;
  return NVML_SUCCESS;
}

}  // namespace

nvmlReturn_t initialize() {
  const std::lock_guard lock(mutex);
  if (state == nullptr) {
    std::string error = config().error;
    if (error.empty()) state = SharedState::open(state_directory(), &error).release();
    if (!error.empty()) {
      SLUICE_ERROR("%s", error.c_str());
      return NVML_ERROR_DRIVER_NOT_LOADED;
    }
  }
  ++references;
  return NVML_SUCCESS;
}

nvmlReturn_t shut_down() {
  const std::lock_guard lock(mutex);
  if (references == 0) return NVML_ERROR_UNINITIALIZED;
  --references;
  return NVML_SUCCESS;
}

SharedState* shared() {
  const std::lock_guard lock(mutex);
  return references > 0 ? state : nullptr;
}

nvmlReturn_t device_index(nvmlDevice_t handle, int* index) {
  if (shared() == nullptr) return NVML_ERROR_UNINITIALIZED;
  for (int i = 0; i < device_count(); ++i) {
    if (handle != device_handle(i)) continue;
    *index = i;
    return NVML_SUCCESS;
  }
  return NVML_ERROR_INVALID_ARGUMENT;
}

nvmlDevice_t device_handle(int index) { return reinterpret_cast<nvmlDevice_t>(&handles[index]); }

nvmlReturn_t copy_text(const char* text, char* out, unsigned bytes) {
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const size_t length = std::strlen(text);
  if (bytes <= length) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(out, text, length + 1);
  return NVML_SUCCESS;
}

}  // namespace sluice::softgpu::nvml

using namespace sluice::softgpu;
using namespace sluice::softgpu::nvml;

SLUICE_NVML nvmlInit_v2() { return initialize(); }
SLUICE_NVML nvmlInit() { return initialize(); }
SLUICE_NVML nvmlInitWithFlags(unsigned) { return initialize(); }
SLUICE_NVML nvmlShutdown() { return shut_down(); }

extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(nvmlReturn_t code) {
  for (const ErrorText& row : kErrors) {
    if (row.code == code) return row.text;
  }
  return "Unknown Error";
}

SLUICE_NVML nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  if (shared() == nullptr) return NVML_ERROR_UNINITIALIZED;
  return copy_text(kDriverText, text, bytes);
}
SLUICE_NVML nvmlSystemGetNVMLVersion(char* text, unsigned bytes) { return copy_text(kNvmlText, text, bytes); }
SLUICE_NVML nvmlSystemGetCudaDriverVersion(int* version) { return version_number(version); }
SLUICE_NVML nvmlSystemGetCudaDriverVersion_v2(int* version) { return version_number(version); }

SLUICE_NVML nvmlSystemGetProcessName(unsigned pid, char* name, unsigned bytes) {
  if (shared() == nullptr) return NVML_ERROR_UNINITIALIZED;
  if (name == nullptr || bytes == 0) return NVML_ERROR_INVALID_ARGUMENT;
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  if (!file) return NVML_ERROR_NOT_FOUND;
  std::string text(std::istreambuf_iterator<char>(file), {});
  text.resize(std::strlen(text.c_str()));  // the program, without its arguments
  return copy_text(text.c_str(), name, bytes);
}

SLUICE_NVML nvmlDeviceGetCount_v2(unsigned* count) {
  if (shared() == nullptr) return NVML_ERROR_UNINITIALIZED;
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *count = static_cast<unsigned>(device_count());
  return NVML_SUCCESS;
}
SLUICE_NVML nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

SLUICE_NVML nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* out) {
  if (shared() == nullptr) return NVML_ERROR_UNINITIALIZED;
  if (out == nullptr || index >= static_cast<unsigned>(device_count())) return NVML_ERROR_INVALID_ARGUMENT;
  *out = device_handle(static_cast<int>(index));
  return NVML_SUCCESS;
}
SLUICE_NVML nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* out) {
  return nvmlDeviceGetHandleByIndex_v2(index, out);
}

SLUICE_NVML nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* out) {
  if (shared() == nullptr) return NVML_ERROR_UNINITIALIZED;
  if (uuid == nullptr || out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const std::string directory = state_directory();
  for (int i = 0; i < device_count(); ++i) {
    if (uuid_text(device_uuid(directory, i)) != uuid) continue;
    *out = device_handle(i);
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

SLUICE_NVML nvmlDeviceGetHandleByPciBusId_v2(const char* id, nvmlDevice_t* out) {
  if (shared() == nullptr) return NVML_ERROR_UNINITIALIZED;
  if (id == nullptr || out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  for (int i = 0; i < device_count(); ++i) {
    const std::string form = pci_bus_id(i);
    // With a domain of four digits, of eight, or none.
    if (strcasecmp(id, form.c_str()) != 0 && strcasecmp(id, ("0000" + form).c_str()) != 0 &&
        strcasecmp(id, form.substr(5).c_str()) != 0) {
      continue;
    }
    *out = device_handle(i);
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}
SLUICE_NVML nvmlDeviceGetHandleByPciBusId(const char* id, nvmlDevice_t* out) {
  return nvmlDeviceGetHandleByPciBusId_v2(id, out);
}
