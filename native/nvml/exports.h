// How the exported functions are written.
#pragma once

#include <string_view>

#include "nvml/inventory.h"
#include "nvml/nvml_types.h"

#define SLUICE_NVML_EXPORT extern "C" __attribute__((visibility("default")))

namespace sluice::nvml {

// The GPU that a handle names; null when it names none or NVML is not initialized.
const Gpu* find(nvmlDevice_t handle);
// What to return when find() gave null.
nvmlReturn_t why_not_found();

// Copies text with its end into a caller's buffer of `size` bytes.
nvmlReturn_t copy_text(std::string_view text, char* into, unsigned size);

}  // namespace sluice::nvml
