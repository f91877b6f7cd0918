#include "worker/calls/host_visible.h"

#include <dlfcn.h>

namespace sluice::worker {

HostVisible::HostVisible(generated::DriverTable& driver) : driver_(driver) {
  if (driver.library == nullptr || driver.cuMemGetAddressRange_v2 == nullptr ||
      driver.cuStreamIsCapturing == nullptr || driver.cuStreamQuery == nullptr) {
    return;
  }
  using Question = int (*)();
  const auto ask = reinterpret_cast<Question>(::dlsym(driver.library, "sluice_device_memory_is_host_memory"));
  visible_ = ask != nullptr && ask() != 0;
}

uint8_t* HostVisible::find(CUdeviceptr address, uint64_t bytes, CUstream stream) const {
  CUdeviceptr base = 0;
  size_t size = 0;
  if (!visible_ || bytes < kLeast || captures(stream) ||
      driver_.cuMemGetAddressRange_v2(&base, &size, address) != CUDA_SUCCESS) {
    return nullptr;
  }
  const uint64_t offset = address - base;
  return offset <= size && bytes <= size - offset ? reinterpret_cast<uint8_t*>(address) : nullptr;
}

uint8_t* HostVisible::find_idle(CUdeviceptr address, uint64_t bytes, CUstream stream) const {
  uint8_t* const range = find(address, bytes, stream);
  if (range == nullptr || driver_.cuStreamQuery(stream) != CUDA_SUCCESS) return nullptr;
  if (stream == nullptr) return range;
  // The default stream stands for all that a blocking stream has to wait for.
  return !captures(nullptr) && driver_.cuStreamQuery(nullptr) == CUDA_SUCCESS ? range : nullptr;
}

// Asking a stream that captures how far it is would end the capture.
bool HostVisible::captures(CUstream stream) const {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver_.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace sluice::worker
