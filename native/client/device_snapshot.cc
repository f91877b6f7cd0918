#include "client/device_snapshot.h"

#include <charconv>

namespace sluice::client {
namespace {

// The host is another machine than the GPU's, whatever the driver there says about its own host.
constexpr CUdevice_attribute kNotAcrossMachines[] = {
    CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
    CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
    CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES,
    CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST,
    CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES,
    CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH,
    CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES,
    CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED,
};

// What this version does not carry yet.
constexpr CUdevice_attribute kNotCarried[] = {
    CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED,
};

bool read_uuid(const std::string& text, CUuuid* uuid) {
  std::string digits;
  for (const char c : text.starts_with("GPU-") ? text.substr(4) : text) {
    if (c != '-') digits += c;
  }
  if (digits.size() != 2 * sizeof uuid->bytes) return false;
  for (size_t i = 0; i < sizeof uuid->bytes; i++) {
    unsigned byte = 0;
    const char* from = digits.data() + 2 * i;
    if (std::from_chars(from, from + 2, byte, 16).ptr != from + 2) return false;
    uuid->bytes[i] = static_cast<char>(byte);
  }
  return true;
}

}  // namespace

std::unique_ptr<Device> read_device(const json::Value& value) {
  auto device = std::make_unique<Device>();
  if (!read_uuid(value["uuid"].string_or(""), &device->uuid)) return nullptr;
  device->name = value["name"].string_or("");
  device->total_bytes = value["totalBytes"].uint_or(0);
  if (device->name.empty() || device->total_bytes == 0) return nullptr;
  for (const auto& [key, number] : value["attributes"].members()) {
    size_t id = 0;
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
    if (parsed.ptr != key.data() + key.size() || id >= device->attributes.size()) continue;
    device->attributes[id] = static_cast<int>(number.int_or(0));
    device->has_attribute[id] = true;
  }
  device->greatest_priority = static_cast<int>(value["greatestStreamPriority"].int_or(0));
  for (const CUdevice_attribute id : kNotAcrossMachines) device->attributes[id] = 0;
  for (const CUdevice_attribute id : kNotCarried) device->attributes[id] = 0;
  return device;
}

}  // namespace sluice::client
