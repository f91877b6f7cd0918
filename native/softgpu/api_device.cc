// Devices: count, names, identity, attributes, what they can do with each other.
#include <algorithm>
#include <cstring>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/device.h"

namespace sluice::softgpu {
namespace {

CUresult find_device(CUdevice ordinal, Device** out) {
  *out = driver()->device(ordinal);
  return *out == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult copy_uuid(CUuuid* uuid, CUdevice ordinal) {
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device;
  SLUICE_TRY(find_device(ordinal, &device));
  *uuid = device->uuid;
  return CUDA_SUCCESS;
}

// As snprintf: cut to fit, always ended.
CUresult copy_text(char* out, int length, const char* text) {
  if (out == nullptr || length < 1) return CUDA_ERROR_INVALID_VALUE;
  const size_t count = std::min(static_cast<size_t>(length) - 1, std::strlen(text));
  std::memcpy(out, text, count);
  out[count] = '\0';
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuDeviceGetCount(int* count) {
  return api([&]() -> CUresult {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<int>(driver()->devices.size());
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuDeviceGet(CUdevice* out, int ordinal) {
  return api([&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Device* device;
    SLUICE_TRY(find_device(ordinal, &device));
    *out = device->index;
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuDeviceGetName(char* name, int length, CUdevice ordinal) {
  return api([&]() -> CUresult {
    Device* device;
    SLUICE_TRY(find_device(ordinal, &device));
    return copy_text(name, length, kDeviceName);
  });
}

SLUICE_API cuDeviceGetUuid(CUuuid* uuid, CUdevice ordinal) {
  return api([&] { return copy_uuid(uuid, ordinal); });
}
SLUICE_API cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice ordinal) {
  return api([&] { return copy_uuid(uuid, ordinal); });
}

SLUICE_API cuDeviceTotalMem_v2(size_t* bytes, CUdevice ordinal) {
  return api([&]() -> CUresult {
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Device* device;
    SLUICE_TRY(find_device(ordinal, &device));
    *bytes = device->config.memory_bytes;
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice ordinal) {
  return api([&]() -> CUresult {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Device* device;
    SLUICE_TRY(find_device(ordinal, &device));
    return device_attribute(*device, attribute, value);
  });
}

SLUICE_API cuDeviceGetPCIBusId(char* id, int length, CUdevice ordinal) {
  return api([&]() -> CUresult {
    Device* device;
    SLUICE_TRY(find_device(ordinal, &device));
    return copy_text(id, length, pci_bus_id(device->index).c_str());
  });
}

SLUICE_API cuDeviceGetByPCIBusId(CUdevice* out, const char* id) {
  return api([&]() -> CUresult {
    if (out == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (const auto& device : driver()->devices) {
      const std::string full = pci_bus_id(device->index);
      // The domain and the function may be left out.
      const std::string bus_and_device = full.substr(5, 5);
      for (const std::string& form : {full, full.substr(5), bus_and_device, full.substr(0, 10)}) {
        if (strcasecmp(form.c_str(), id) == 0) {
          *out = device->index;
          return CUDA_SUCCESS;
        }
      }
    }
    return CUDA_ERROR_INVALID_DEVICE;
  });
}

SLUICE_API cuDeviceComputeCapability(int* major, int* minor, CUdevice ordinal) {
  return api([&]() -> CUresult {
    if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Device* device;
    SLUICE_TRY(find_device(ordinal, &device));
    *major = device->config.cc_major;
    *minor = device->config.cc_minor;
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuDeviceGetProperties(CUdevprop* out, CUdevice ordinal) {
  return api([&]() -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Device* device;
    SLUICE_TRY(find_device(ordinal, &device));
    const auto get = [&](int attribute) {
      int value = 0;
      device_attribute(*device, attribute, &value);
      return value;
    };
    *out = CUdevprop{
        .maxThreadsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .maxThreadsDim = {get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X), get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                          get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)},
        .maxGridSize = {get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X), get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                        get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)},
        .sharedMemPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        .totalConstantMemory = get(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
        .SIMDWidth = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        .memPitch = get(CU_DEVICE_ATTRIBUTE_MAX_PITCH),
        .regsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        .clockRate = get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        .textureAlign = get(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT)};
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuDeviceGetExecAffinitySupport(int* supported, CUexecAffinityType, CUdevice ordinal) {
  return api([&]() -> CUresult {
    if (supported == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Device* device;
    SLUICE_TRY(find_device(ordinal, &device));
    *supported = 0;
    return CUDA_SUCCESS;
  });
}

// All devices are host memory, so each can reach every other.
SLUICE_API cuDeviceCanAccessPeer(int* can, CUdevice ordinal, CUdevice peer_ordinal) {
  return api([&]() -> CUresult {
    if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Device *device, *peer;
    SLUICE_TRY(find_device(ordinal, &device));
    SLUICE_TRY(find_device(peer_ordinal, &peer));
    *can = device == peer ? 0 : 1;
    return CUDA_SUCCESS;
  });
}

SLUICE_API cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice ordinal,
                                   CUdevice peer_ordinal) {
  return api([&]() -> CUresult {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Device *device, *peer;
    SLUICE_TRY(find_device(ordinal, &device));
    SLUICE_TRY(find_device(peer_ordinal, &peer));
    if (device == peer) return CUDA_ERROR_INVALID_DEVICE;
    switch (attribute) {
      case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
      case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
        *value = 1;
        return CUDA_SUCCESS;
      case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
      case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
      case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
        *value = 0;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

// The host is not the device; the memory of all devices is one memory of this process.
SLUICE_API cuDeviceGetHostAtomicCapabilities(unsigned* capabilities, const CUatomicOperation* operations,
                                             unsigned count, CUdevice ordinal) {
  return api([&]() -> CUresult {
    if (capabilities == nullptr || operations == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    Device* device;
    SLUICE_TRY(find_device(ordinal, &device));
    for (unsigned i = 0; i < count; ++i) {
      if (operations[i] < 0 || operations[i] >= CU_ATOMIC_OPERATION_MAX) return CUDA_ERROR_INVALID_VALUE;
      capabilities[i] = 0;
    }
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuDeviceGetP2PAtomicCapabilities(unsigned* capabilities, const CUatomicOperation* operations,
                                            unsigned count, CUdevice source, CUdevice destination) {
  return api([&]() -> CUresult {
    constexpr unsigned kReductionOf32And64Bits = 1u << 2 | 1u << 3 | 1u << 4;
    constexpr unsigned kSignedAndUnsigned = 3;
    if (capabilities == nullptr || operations == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    Device *device, *peer;
    SLUICE_TRY(find_device(source, &device));
    SLUICE_TRY(find_device(destination, &peer));
    if (device == peer) return CUDA_ERROR_INVALID_DEVICE;
    for (unsigned i = 0; i < count; ++i) {
      if (operations[i] < 0 || operations[i] >= CU_ATOMIC_OPERATION_MAX) return CUDA_ERROR_INVALID_VALUE;
      const bool on_floats = operations[i] >= CU_ATOMIC_OPERATION_FLOAT_ADD;
      capabilities[i] = kReductionOf32And64Bits | (on_floats ? 0 : kSignedAndUnsigned);
    }
    return CUDA_SUCCESS;
  });
}

// The form of CUDA 2 gives the size in 32 bits; more is told as the most that it can say.
SLUICE_API cuDeviceTotalMem(unsigned* bytes, CUdevice ordinal) {
  return api([&]() -> CUresult {
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Device* device;
    SLUICE_TRY(find_device(ordinal, &device));
    *bytes = static_cast<unsigned>(std::min<uint64_t>(device->config.memory_bytes, UINT32_MAX));
    return CUDA_SUCCESS;
  });
}

namespace sluice::softgpu {

std::span<const Entry> device_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuDeviceGetCount", 2000, cuDeviceGetCount),
      SLUICE_ENTRY("cuDeviceGet", 2000, cuDeviceGet),
      SLUICE_ENTRY("cuDeviceGetName", 2000, cuDeviceGetName),
      SLUICE_ENTRY("cuDeviceGetUuid", 9020, cuDeviceGetUuid),
      SLUICE_ENTRY("cuDeviceGetUuid", 11040, cuDeviceGetUuid_v2),
      SLUICE_ENTRY("cuDeviceTotalMem", 2000, cuDeviceTotalMem),
      SLUICE_ENTRY("cuDeviceTotalMem", 3020, cuDeviceTotalMem_v2),
      SLUICE_ENTRY("cuDeviceGetHostAtomicCapabilities", 13000, cuDeviceGetHostAtomicCapabilities),
      SLUICE_ENTRY("cuDeviceGetP2PAtomicCapabilities", 13000, cuDeviceGetP2PAtomicCapabilities),
      SLUICE_ENTRY("cuDeviceGetAttribute", 2000, cuDeviceGetAttribute),
      SLUICE_ENTRY("cuDeviceGetPCIBusId", 4010, cuDeviceGetPCIBusId),
      SLUICE_ENTRY("cuDeviceGetByPCIBusId", 4010, cuDeviceGetByPCIBusId),
      SLUICE_ENTRY("cuDeviceComputeCapability", 2000, cuDeviceComputeCapability),
      SLUICE_ENTRY("cuDeviceGetProperties", 2000, cuDeviceGetProperties),
      SLUICE_ENTRY("cuDeviceGetExecAffinitySupport", 11040, cuDeviceGetExecAffinitySupport),
      SLUICE_ENTRY("cuDeviceCanAccessPeer", 4000, cuDeviceCanAccessPeer),
      SLUICE_ENTRY("cuDeviceGetP2PAttribute", 8000, cuDeviceGetP2PAttribute),
  };
  return entries;
}

}  // namespace sluice::softgpu
