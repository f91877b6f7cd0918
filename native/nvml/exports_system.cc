// Initialization, versions and error texts.
#include <atomic>
#include <cstring>
#include <fstream>
#include <string>

#include "common/log.h"
#include "common/version.h"
#include "nvml/exports.h"

using sluice::nvml::copy_text;
using sluice::nvml::inventory;

namespace {

// The API's version, as in NVML's own "13.580.65"; what follows it there is the driver's release, here ours.
constexpr const char* kApiVersion = "13.";

nvmlReturn_t initialize() {
  const std::string error = inventory().initialize();
  if (error.empty()) return NVML_SUCCESS;
  // Monitors retry in a loop: the sentence once is enough.
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) SLUICE_ERROR("%s", error.c_str());
  return NVML_ERROR_DRIVER_NOT_LOADED;
}

nvmlReturn_t cuda_driver_version(int* version) {
  if (!version) return NVML_ERROR_INVALID_ARGUMENT;
  const auto known = inventory().driver_version();
  if (!known) return NVML_ERROR_NOT_SUPPORTED;
  *version = static_cast<int>(*known);
  return NVML_SUCCESS;
}

}  // namespace

namespace sluice::nvml {

nvmlReturn_t copy_text(std::string_view text, char* into, unsigned size) {
  if (!into) return NVML_ERROR_INVALID_ARGUMENT;
  if (text.size() >= size) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(into, text.data(), text.size());
  into[text.size()] = '\0';
  return NVML_SUCCESS;
}

}  // namespace sluice::nvml

SLUICE_NVML_EXPORT nvmlReturn_t nvmlInit_v2() { return initialize(); }
SLUICE_NVML_EXPORT nvmlReturn_t nvmlInit() { return initialize(); }
SLUICE_NVML_EXPORT nvmlReturn_t nvmlInitWithFlags(unsigned) { return initialize(); }

SLUICE_NVML_EXPORT nvmlReturn_t nvmlShutdown() {
  return inventory().shutdown() ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

SLUICE_NVML_EXPORT const char* nvmlErrorString(nvmlReturn_t result) {
  switch (result) {
    case NVML_SUCCESS:
      return "Success";
    case NVML_ERROR_UNINITIALIZED:
      return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT:
      return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED:
      return "Not Supported";
    case NVML_ERROR_NO_PERMISSION:
      return "Insufficient Permissions";
    case NVML_ERROR_NOT_FOUND:
      return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE:
      return "Insufficient Size";
    case NVML_ERROR_DRIVER_NOT_LOADED:
      return "Driver Not Loaded";
    case NVML_ERROR_TIMEOUT:
      return "Timeout";
    case NVML_ERROR_LIBRARY_NOT_FOUND:
      return "NVML Shared Library Not Found";
    case NVML_ERROR_FUNCTION_NOT_FOUND:
      return "Function Not Found";
    case NVML_ERROR_GPU_IS_LOST:
      return "GPU is lost";
    case NVML_ERROR_OPERATING_SYSTEM:
      return "Operating System Call Failed";
    case NVML_ERROR_MEMORY:
      return "Insufficient Memory";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
      return "Argument Version Mismatch";
    case NVML_ERROR_UNKNOWN:
      break;
  }
  return "Unknown Error";
}

SLUICE_NVML_EXPORT nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned length) {
  return copy_text(kApiVersion + std::string(sluice::version()), version, length);
}

SLUICE_NVML_EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length) {
  if (!inventory().initialized()) return NVML_ERROR_UNINITIALIZED;
  const std::string& release = inventory().driver_release();
  return release.empty() ? NVML_ERROR_NOT_SUPPORTED : copy_text(release, version, length);
}

SLUICE_NVML_EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  return cuda_driver_version(version);
}
SLUICE_NVML_EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return cuda_driver_version(version);
}

SLUICE_NVML_EXPORT nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  if (!inventory().initialized()) return NVML_ERROR_UNINITIALIZED;
  if (!name || length == 0) return NVML_ERROR_INVALID_ARGUMENT;
  std::ifstream stream("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  std::string program;
  std::getline(stream, program, '\0');
  if (program.empty()) return NVML_ERROR_NOT_FOUND;
  return copy_text(std::string_view(program).substr(0, length - 1), name, length);
}
