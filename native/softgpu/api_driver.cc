// Start-up, versions, look-up of functions, private tables, profiler control.
#include <cstring>

#include "contract/contract.h"
#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/device.h"
#include "softgpu/module.h"

extern "C" CUresult cuStreamGetId(CUstream stream, unsigned long long* out);  // api_stream.cc

namespace sluice::softgpu {
namespace {

std::span<const Entry> (*const kTables[])() = {
    driver_entries,         device_entries,        context_entries,
    memory_entries,         host_memory_entries,   pointer_entries,
    pool_entries,           copy_entries,          copy_2d_entries,
    memset_entries,         stream_entries,        event_entries,
    module_entries,         library_entries,       function_entries,
    launch_entries,         occupancy_entries,     link_entries,
    error_entries,          legacy_entries,        capture_entries,
    graph_entries,          graph_node_entries,    graph_exec_entries,
    virtual_memory_entries, copy_array_entries,    copy_batch_entries,
    array_entries,          texture_entries,       texture_reference_entries,
    tensor_map_entries,     stream_memory_entries, stream_attribute_entries,
    old_launch_entries,     managed_entries,
};

// The newest form of the function that the asked version has.
CUdriverProcAddressQueryResult find_function(const char* name, int version, bool per_thread, void** out) {
  const Entry* best = nullptr;
  bool known = false;
  for (const auto table : kTables) {
    for (const Entry& entry : table()) {
      if (std::strcmp(entry.name, name) != 0) continue;
      known = true;
      if (entry.version <= version && (best == nullptr || entry.version > best->version)) best = &entry;
    }
  }
  *out = nullptr;
  if (best == nullptr) {
    SLUICE_DEBUG("cuGetProcAddress: %s of version %d is not there", name, version);
    return known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  *out = per_thread && best->per_thread != nullptr ? best->per_thread : best->function;
  return CU_GET_PROC_ADDRESS_SUCCESS;
}

CUresult proc_address(const char* name, void** function, int version, uint64_t flags, bool per_thread_build,
                      CUdriverProcAddressQueryResult* status) {
  constexpr uint64_t kBoth =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (name == nullptr || function == nullptr || (flags & ~kBoth) != 0 || flags == kBoth) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ||
                          (flags == CU_GET_PROC_ADDRESS_DEFAULT && per_thread_build);
  *status = find_function(name, version, per_thread, function);
  return CUDA_SUCCESS;
}

// The first form reports a missing function as an error, the second by a null pointer and the status.
CUresult proc_address_v1(const char* name, void** function, int version, uint64_t flags,
                         bool per_thread_build) {
  CUdriverProcAddressQueryResult status;
  SLUICE_TRY(proc_address(name, function, version, flags, per_thread_build, &status));
  return status == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult proc_address_v2(const char* name, void** function, int version, uint64_t flags,
                         bool per_thread_build, CUdriverProcAddressQueryResult* status) {
  CUdriverProcAddressQueryResult unread;
  return proc_address(name, function, version, flags, per_thread_build, status == nullptr ? &unread : status);
}

contract::Host contract_host() {
  contract::Host host{};
  host.driver_version = [] { return kDriverVersion; };
  host.device_count = [] { return driver() == nullptr ? 0 : static_cast<int>(driver()->devices.size()); };
  host.device_identity = [](int ordinal, contract::DeviceIdentity* out) {
    SLUICE_TRY(check_initialized());
    const Device* device = driver()->device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *out = {device->uuid, 0, pci_bus(ordinal), 0};
    return CUDA_SUCCESS;
  };
  host.current_context = [](CUcontext* out) {
    SLUICE_TRY(check_initialized());
    *out = top_context();
    return CUDA_SUCCESS;
  };
  host.primary_context = [](CUcontext* out, CUdevice ordinal) {
    SLUICE_TRY(check_initialized());
    Device* device = driver()->device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    std::shared_ptr<Context> primary;
    SLUICE_TRY(retain_primary(*device, &primary, false));
    *out = primary->handle();
    return CUDA_SUCCESS;
  };
  host.context_device = [](CUcontext handle, CUdevice* out) {
    const auto* context = lookup<Context>(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *out = context->device.index;
    return CUDA_SUCCESS;
  };
  host.context_id = [](CUcontext handle, unsigned long long* out) {
    const auto* context = lookup<Context>(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *out = context->id;
    return CUDA_SUCCESS;
  };
  host.stream_id = cuStreamGetId;
  host.load_module = [](CUmodule* out, const void* image) {
    return api([&]() -> CUresult {
      Context* context;
      SLUICE_TRY(healthy_context(&context));
      return load_module(*context, image, nullptr, out);
    });
  };
  return host;
}

// Runtime libraries ask for tables before cuInit.
__attribute__((constructor)) void install_contract() { contract::install(contract_host()); }

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  try {
    return initialize();
  } catch (...) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

// For a worker that has loaded this driver: bytes from its client may go straight into device memory.
extern "C" __attribute__((visibility("default"))) int sluice_device_memory_is_host_memory() { return 1; }

SLUICE_API cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

SLUICE_API cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
  return proc_address_v1(name, function, version, flags, false);
}
SLUICE_API cuGetProcAddress_ptsz(const char* name, void** function, int version, uint64_t flags) {
  return proc_address_v1(name, function, version, flags, true);
}
SLUICE_API cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t flags,
                               CUdriverProcAddressQueryResult* status) {
  return proc_address_v2(name, function, version, flags, false, status);
}
SLUICE_API cuGetProcAddress_v2_ptsz(const char* name, void** function, int version, uint64_t flags,
                                    CUdriverProcAddressQueryResult* status) {
  return proc_address_v2(name, function, version, flags, true, status);
}

SLUICE_API cuGetExportTable(const void** table, const CUuuid* id) {
  return sluice::contract::export_table(table, id);
}

SLUICE_API cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return api([&]() -> CUresult {
    if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
  });
}

// There is no profiler to start; programs that bracket a region with these calls go on.
SLUICE_API cuProfilerStart() {
  return api([]() -> CUresult {
    Context* context;
    return healthy_context(&context);
  });
}
SLUICE_API cuProfilerStop() {
  return api([]() -> CUresult {
    Context* context;
    return healthy_context(&context);
  });
}

namespace sluice::softgpu {

std::span<const Entry> driver_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuInit", 2000, cuInit),
      SLUICE_ENTRY("cuDriverGetVersion", 2020, cuDriverGetVersion),
      SLUICE_ENTRY_PAIR("cuGetProcAddress", 11030, cuGetProcAddress, _ptsz),
      SLUICE_ENTRY_PAIR("cuGetProcAddress", 12000, cuGetProcAddress_v2, _ptsz),
      SLUICE_ENTRY("cuGetExportTable", 3000, cuGetExportTable),
      SLUICE_ENTRY("cuModuleGetLoadingMode", 11070, cuModuleGetLoadingMode),
      SLUICE_ENTRY("cuProfilerStart", 4000, cuProfilerStart),
      SLUICE_ENTRY("cuProfilerStop", 4000, cuProfilerStop),
  };
  return entries;
}

}  // namespace sluice::softgpu
