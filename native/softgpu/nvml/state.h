// What the NVML functions share: initialisation and the devices behind the handles.
#pragma once

#include "softgpu/config.h"
#include "softgpu/nvml/nvml_types.h"
#include "softgpu/shared_state.h"

#define SLUICE_NVML extern "C" __attribute__((visibility("default"))) nvmlReturn_t

namespace sluice::softgpu::nvml {

// Counted as NVML counts: as many shutdowns as initialisations.
nvmlReturn_t initialize();
nvmlReturn_t shut_down();

// Null unless initialised.
SharedState* shared();

// The device's index. UNINITIALIZED, or INVALID_ARGUMENT for a handle that is none.
nvmlReturn_t device_index(nvmlDevice_t handle, int* index);
nvmlDevice_t device_handle(int index);
inline int device_count() { return static_cast<int>(config().devices.size()); }

// INSUFFICIENT_SIZE when the text and its end do not fit.
nvmlReturn_t copy_text(const char* text, char* out, unsigned bytes);

}  // namespace sluice::softgpu::nvml
