// Every other function of a current libnvidia-ml: there for whoever looks it up, and not supported.
#include <atomic>

#include "common/log.h"
#include "nvml/exports.h"

namespace {

int not_supported(const char* function, std::atomic<bool>& said) {
  if (!said.exchange(true)) SLUICE_DEBUG("%s is not supported for a remote GPU", function);
  return NVML_ERROR_NOT_SUPPORTED;
}

}  // namespace

// The arguments stay where the caller put them: the calling convention lets a function ignore them.
#define SLUICE_UNSUPPORTED(function)       \
  SLUICE_NVML_EXPORT int function() {      \
    static std::atomic<bool> said{false};  \
    return not_supported(#function, said); \
  }
#include "nvml/unsupported_functions.inc"
#undef SLUICE_UNSUPPORTED

// Not in the reference: NVIDIA's own tools ask for private tables. None is known, and none is handed out
// with holes in it.
SLUICE_NVML_EXPORT nvmlReturn_t nvmlInternalGetExportTable(const void** table, const void*) {
  if (table) *table = nullptr;
  return NVML_ERROR_NOT_SUPPORTED;
}
