// Devices: answered from the snapshot that came with the welcome.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "client/scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {
namespace {

CUresult find_device(CUdevice ordinal, Device** device, Session** session_out = nullptr) {
  Session* session = nullptr;
  if (CUresult error = current_session(&session)) return error;
  *device = session->device(ordinal);
  if (session_out != nullptr) *session_out = session;
  return *device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult pci_text(const Device& device, char* text, int size) {
  char whole[32];
  std::snprintf(whole, sizeof whole, "%04x:%02x:%02x.0", device.attributes[CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID],
                device.attributes[CU_DEVICE_ATTRIBUTE_PCI_BUS_ID],
                device.attributes[CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID]);
  if (static_cast<size_t>(size) <= std::strlen(whole)) return CUDA_ERROR_INVALID_VALUE;
  std::strcpy(text, whole);
  return CUDA_SUCCESS;
}

// The handle of the device's own pool, minted and bound when it is first asked for.
CUmemoryPool default_pool(Session* session, Device* device, CUdevice ordinal) {
  const std::lock_guard lock(device->mutex);
  if (device->default_pool == nullptr) {
    Pool* pool = nullptr;
    void* handle = session->pools.mint(&pool);
    if (handle == nullptr) return nullptr;
    pool->device = ordinal;
    pool->is_default = true;
    wire::AsyncFrame<8> frame(wire::ControlCall::bind_default_pool);
    frame.put(int32_t{device->ordinal_there});
    frame.put(pool->index);
    device->channel->post(0, frame.data(), frame.size());
    device->default_pool = static_cast<CUmemoryPool>(handle);
  }
  return device->default_pool;
}

}  // namespace

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* found = nullptr;
  if (CUresult error = find_device(ordinal, &found)) return error;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Session* session = nullptr;
  if (CUresult error = current_session(&session)) return error;
  *count = static_cast<int>(session->devices.size());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int len, CUdevice dev) {
  if (name == nullptr || len <= 0) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (CUresult error = find_device(dev, &device)) return error;
  const size_t size = std::min(device->name.size(), static_cast<size_t>(len) - 1);
  std::memcpy(name, device->name.data(), size);
  std::memset(name + size, 0, static_cast<size_t>(len) - size);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice dev) {
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (CUresult error = find_device(dev, &device)) return error;
  *uuid = device->uuid;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice dev) { return cuDeviceGetUuid(uuid, dev); }

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice dev) {
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (CUresult error = find_device(dev, &device)) return error;
  *bytes = device->total_bytes;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
  if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (CUresult error = find_device(dev, &device)) return error;
  const auto id = static_cast<size_t>(attrib);
  if (attrib <= 0 || id >= device->attributes.size() || !device->has_attribute[id]) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pi = device->attributes[id];
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop* prop, CUdevice dev) {
  if (prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (CUresult error = find_device(dev, &device)) return error;
  const auto& values = device->attributes;
  *prop = {};
  prop->maxThreadsPerBlock = values[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
  for (size_t i = 0; i < 3; i++) {
    prop->maxThreadsDim[i] = values[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i];
    prop->maxGridSize[i] = values[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i];
  }
  prop->sharedMemPerBlock = values[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK];
  prop->totalConstantMemory = values[CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY];
  prop->SIMDWidth = values[CU_DEVICE_ATTRIBUTE_WARP_SIZE];
  prop->memPitch = values[CU_DEVICE_ATTRIBUTE_MAX_PITCH];
  prop->regsPerBlock = values[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK];
  prop->clockRate = values[CU_DEVICE_ATTRIBUTE_CLOCK_RATE];
  prop->textureAlign = values[CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT];
  return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice dev) {
  if (CUresult error = cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev))
    return error;
  return cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev);
}

CUresult cuDeviceGetPCIBusId(char* pciBusId, int len, CUdevice dev) {
  if (pciBusId == nullptr || len <= 0) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (CUresult error = find_device(dev, &device)) return error;
  return pci_text(*device, pciBusId, len);
}

CUresult cuDeviceGetByPCIBusId(CUdevice* dev, const char* pciBusId) {
  if (dev == nullptr || pciBusId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Session* session = nullptr;
  if (CUresult error = current_session(&session)) return error;
  unsigned domain = 0, bus = 0, slot = 0;
  // [domain]:[bus]:[device].[function], [domain]:[bus]:[device] or [bus]:[device], all hexadecimal.
  if (std::sscanf(pciBusId, "%x:%x:%x", &domain, &bus, &slot) != 3) {
    domain = 0;
    if (std::sscanf(pciBusId, "%x:%x", &bus, &slot) != 2) return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < session->devices.size(); i++) {
    const auto& values = session->devices[i]->attributes;
    const auto is = [&values](CUdevice_attribute id, unsigned wanted) {
      return static_cast<unsigned>(values[id]) == wanted;
    };
    if (is(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, domain) && is(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, bus) &&
        is(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, slot)) {
      *dev = static_cast<CUdevice>(i);
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetExecAffinitySupport(int* pi, CUexecAffinityType type, CUdevice dev) {
  if (pi == nullptr || type < 0 || type >= CU_EXEC_AFFINITY_TYPE_MAX) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (CUresult error = find_device(dev, &device)) return error;
  *pi = 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(unsigned int* bytes, CUdevice dev) {
  size_t whole = 0;
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = cuDeviceTotalMem_v2(&whole, dev)) return error;
  *bytes = static_cast<unsigned>(std::min<size_t>(whole, UINT32_MAX));
  return CUDA_SUCCESS;
}

// No atomic operation spans the host and a device, nor two devices as far as is known here.
CUresult cuDeviceGetHostAtomicCapabilities(unsigned* capabilities, const CUatomicOperation* operations,
                                           unsigned int count, CUdevice dev) {
  if (capabilities == nullptr || operations == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (CUresult error = find_device(dev, &device)) return error;
  for (unsigned i = 0; i < count; i++) {
    if (operations[i] < 0 || operations[i] >= CU_ATOMIC_OPERATION_MAX) return CUDA_ERROR_INVALID_VALUE;
    capabilities[i] = 0;
  }
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAtomicCapabilities(unsigned* capabilities, const CUatomicOperation* operations,
                                          unsigned int count, CUdevice source, CUdevice destination) {
  Device* device = nullptr;
  if (CUresult error = find_device(destination, &device)) return error;
  if (source == destination) return CUDA_ERROR_INVALID_DEVICE;
  return cuDeviceGetHostAtomicCapabilities(capabilities, operations, count, source);
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool_out, CUdevice dev) {
  if (pool_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  Session* session = nullptr;
  if (CUresult error = find_device(dev, &device, &session)) return error;
  if (device->attributes[CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED] == 0) return CUDA_ERROR_NOT_SUPPORTED;
  *pool_out = default_pool(session, device, dev);
  return *pool_out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice dev) {
  if (CUresult error = cuDeviceGetDefaultMemPool(pool, dev)) return error;
  Device* device = nullptr;
  if (CUresult error = find_device(dev, &device)) return error;
  const std::lock_guard lock(device->mutex);
  if (device->current_pool != nullptr) *pool = device->current_pool;
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  Device* device = scope.session->device(dev);
  const Pool* object = scope.session->pools.find(pool);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (object == nullptr || object->device != dev) return CUDA_ERROR_INVALID_VALUE;
  wire::AsyncFrame<8> frame(generated::CallId::cuDeviceSetMemPool);
  frame.put(int32_t{device->ordinal_there});
  frame.put(object->index);
  if (CUresult error = device->channel->post(0, frame.data(), frame.size())) return error;
  const std::lock_guard lock(device->mutex);
  device->current_pool = pool;
  return CUDA_SUCCESS;
}

}  // namespace sluice::client::calls
