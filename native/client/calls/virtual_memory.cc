// Virtual memory management. Only a reservation, and a create that might not fit, wait for the worker.
#include <algorithm>

#include "client/allocate_apart.h"
#include "client/scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

constexpr size_t kMostDescriptions = 64;  // one per device is enough

void* pointer(CUmemGenericAllocationHandle handle) { return reinterpret_cast<void*>(handle); }

// Memory of a granted device that stays in this process.
CUresult check_properties(const Session& session, const CUmemAllocationProp* properties) {
  if (properties == nullptr || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return CUDA_ERROR_INVALID_VALUE;
  // Handles to give away are for processes of one machine.
  if (properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
  switch (properties->location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return static_cast<size_t>(properties->location.id) < session.devices.size()
                 ? CUDA_SUCCESS
                 : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return CUDA_ERROR_NOT_SUPPORTED;  // the host is another machine than the GPU's
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult find_memory(Scope& scope, CUmemGenericAllocationHandle handle, PhysicalMemory** memory) {
  *memory = scope.session->physical_memory.find(pointer(handle));
  if (*memory == nullptr || !scope.session->virtual_memory.has_reference(**memory))
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

template <typename Frame>
CUresult post(const Channel* channel, const Frame& frame) {
  return const_cast<Channel*>(channel)->post(0, frame.data(), frame.size());
}

// Nothing holds the memory any more.
CUresult give_back(Session& session, PhysicalMemory& memory) {
  wire::AsyncFrame<4> frame(CallId::cuMemRelease);
  frame.put(memory.index);
  const CUresult result = post(session.device(memory.device)->channel, frame);
  session.physical_memory.release(&memory);
  return result;
}

// The worker's part of cuMemCreate: waited for unless the memory is certainly there.
CUresult create_there(Session& session, Device& device, const PhysicalMemory& memory) {
  const auto fill = [&](auto& frame) {
    frame.put(memory.index);
    frame.put(int32_t{device.ordinal_there});
    frame.put(memory.bytes);
    frame.put(memory.properties.allocFlags.compressionType);
    frame.put(uint16_t{memory.properties.allocFlags.usage});
  };
  constexpr size_t kBytes = 4 + 4 + 8 + 1 + 2;
  if (device.room.has(memory.bytes, session.memory.taken())) {
    session.memory.count_taken(memory.bytes);
    wire::AsyncFrame<kBytes> frame(CallId::cuMemCreate);
    fill(frame);
    return post(device.channel, frame);
  }
  wire::SyncFrame<kBytes> frame(CallId::cuMemCreate);
  fill(frame);
  wire::FixedReply<16> reply;
  Reply answer{reply.data(), reply.capacity()};
  const uint64_t taken_before = session.memory.taken();
  if (CUresult error = device.channel->call(0, frame.data(), frame.size(), &answer)) return error;
  reply.received(answer.received);
  const auto free_bytes = reply.get<uint64_t>();
  const auto granularity = reply.get<uint64_t>();
  if (!reply.complete()) return CUDA_ERROR_UNKNOWN;
  // What other threads took meanwhile may be in the answer or not; counted twice it does no harm.
  device.room.learn(free_bytes, std::max<uint64_t>(granularity, 1), taken_before);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags) {
  if (ptr == nullptr || size == 0 || flags != 0 || (alignment & (alignment - 1)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (scope.session->devices.empty()) return CUDA_ERROR_NO_DEVICE;
  // Addresses belong to no device; they are reserved where they will most likely be used.
  scope.channel = scope.context ? scope.context->channel : scope.session->devices.front()->channel;
  const auto reserve = [&](CUdeviceptr* address, size_t* bytes) -> CUresult {
    wire::SyncFrame<24> frame(CallId::cuMemAddressReserve);
    frame.put(uint64_t{*bytes});
    frame.put(uint64_t{alignment});
    frame.put(uint64_t{addr});
    wire::FixedReply<8> reply;
    if (CUresult error = scope.call(frame, reply)) return error;
    *address = reply.get<uint64_t>();
    return reply.complete() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
  };
  const auto free_there = [&](CUdeviceptr unused) {
    wire::AsyncFrame<16> frame(CallId::cuMemAddressFree);
    frame.put(uint64_t{unused});
    frame.put(uint64_t{size});
    post(scope.channel, frame);
  };
  if (CUresult error = allocate_apart(scope, ptr, &size, reserve, free_there)) return error;
  scope.session->virtual_memory.reserve({*ptr, size, scope.channel});
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  const auto reservation = scope.session->virtual_memory.remove_reservation(ptr, size);
  if (!reservation) return CUDA_ERROR_INVALID_VALUE;
  wire::AsyncFrame<16> frame(CallId::cuMemAddressFree);
  frame.put(uint64_t{ptr});
  frame.put(uint64_t{size});
  return post(reservation->channel, frame);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* prop,
                     unsigned long long flags) {
  if (handle == nullptr || size == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = check_properties(*scope.session, prop)) return error;
  Device& device = *scope.session->device(prop->location.id);
  if (size % device.room.granularity() != 0) return CUDA_ERROR_INVALID_VALUE;
  PhysicalMemory* memory = nullptr;
  if (scope.session->physical_memory.mint(&memory) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  memory->device = prop->location.id;
  memory->bytes = size;
  memory->properties = *prop;
  memory->references = 1;
  if (CUresult error = create_there(*scope.session, device, *memory)) {
    scope.session->physical_memory.release(memory);
    return error;
  }
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(memory->handle);
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  PhysicalMemory* memory = scope.session->physical_memory.find(pointer(handle));
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (scope.session->virtual_memory.release(*memory)) {
    case VirtualMemory::Released::kInvalid:
      return CUDA_ERROR_INVALID_VALUE;
    case VirtualMemory::Released::kHeld:
      return CUDA_SUCCESS;
    case VirtualMemory::Released::kGone:
      break;
  }
  return give_back(*scope.session, *memory);
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  if (size == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  PhysicalMemory* memory = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = find_memory(scope, handle, &memory)) return error;
  if (offset > memory->bytes || size > memory->bytes - offset) return CUDA_ERROR_INVALID_VALUE;
  const Device& device = *scope.session->device(memory->device);
  const uint64_t granularity = device.room.granularity();
  if (ptr % granularity != 0 || size % granularity != 0 || offset % granularity != 0)
    return CUDA_ERROR_INVALID_VALUE;
  VirtualMemory& book = scope.session->virtual_memory;
  const auto reservation = book.reservation_of(ptr, size);
  if (!reservation) return CUDA_ERROR_INVALID_VALUE;
  // No GPU reaches memory of another server.
  if (reservation->channel != device.channel) return CUDA_ERROR_NOT_SUPPORTED;
  if (!book.map({ptr, size, memory, scope.session->next_id.fetch_add(1), {}}))
    return CUDA_ERROR_INVALID_VALUE;
  wire::AsyncFrame<28> frame(CallId::cuMemMap);
  frame.put(uint64_t{ptr});
  frame.put(uint64_t{size});
  frame.put(uint64_t{offset});
  frame.put(memory->index);
  return post(device.channel, frame);
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  VirtualMemory& book = scope.session->virtual_memory;
  const auto mappings = size == 0 ? std::vector<Mapping>{} : book.mappings(ptr, size);
  if (mappings.empty()) return CUDA_ERROR_INVALID_VALUE;
  scope.session->memory.remove_mapped(ptr, size);
  wire::AsyncFrame<16> frame(CallId::cuMemUnmap);
  frame.put(uint64_t{ptr});
  frame.put(uint64_t{size});
  CUresult result = post(scope.session->device(mappings.front().memory->device)->channel, frame);
  for (const Mapping& mapping : mappings) {
    if (book.unmap(mapping.base)) result = give_back(*scope.session, *mapping.memory);
  }
  return result;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
  if (size == 0 || desc == nullptr || count == 0 || count > kMostDescriptions)
    return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  Session& session = *scope.session;
  const auto mappings = session.virtual_memory.mappings(ptr, size);
  if (mappings.empty()) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; i++) {
    if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    if (session.device(desc[i].location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    switch (desc[i].flags) {
      case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
      case CU_MEM_ACCESS_FLAGS_PROT_NONE:
        break;
      case CU_MEM_ACCESS_FLAGS_PROT_READ:
        return CUDA_ERROR_NOT_SUPPORTED;  // what a driver thinks of it would be known only later
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (const Mapping& mapping : mappings) {
      // No device reads the memory of another: cuDeviceCanAccessPeer says so.
      if (mapping.memory->device != desc[i].location.id && desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
        return CUDA_ERROR_INVALID_DEVICE;
    }
  }
  Device& device = *session.device(mappings.front().memory->device);
  for (size_t i = 0; i < count; i++) {
    if (desc[i].location.id != mappings.front().memory->device) continue;
    wire::AsyncFrame<24> frame(CallId::cuMemSetAccess);
    frame.put(uint64_t{ptr});
    frame.put(uint64_t{size});
    frame.put(int32_t{device.ordinal_there});
    frame.put(static_cast<int32_t>(desc[i].flags));
    if (CUresult error = post(device.channel, frame)) return error;
    for (const Mapping& mapping : mappings) {
      session.virtual_memory.set_access(mapping.base, desc[i].location.id, desc[i].flags);
      if (desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
        session.memory.remove_mapped(mapping.base, mapping.bytes);
      } else {
        session.memory.add_mapped(mapping.base, mapping.bytes, device.primary, mapping.id);
      }
    }
  }
  return CUDA_SUCCESS;
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr ptr) {
  if (flags == nullptr || location == nullptr || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
    return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (scope.session->device(location->id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const auto mapping = scope.session->virtual_memory.mapping_of(ptr);
  if (!mapping) return CUDA_ERROR_INVALID_VALUE;
  const auto known = mapping->access.find(location->id);
  *flags = known == mapping->access.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE : known->second;
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags option) {
  if (granularity == nullptr || option < CU_MEM_ALLOC_GRANULARITY_MINIMUM ||
      option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
    return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = check_properties(*scope.session, prop)) return error;
  Device& device = *scope.session->device(prop->location.id);
  const auto key = static_cast<size_t>(option);
  {
    const std::lock_guard lock(device.mutex);
    if (device.granularities[key] != 0) {
      *granularity = device.granularities[key];
      return CUDA_SUCCESS;
    }
  }
  wire::SyncFrame<8> frame(CallId::cuMemGetAllocationGranularity);
  frame.put(int32_t{device.ordinal_there});
  frame.put(static_cast<int32_t>(option));
  uint64_t value = 0;
  Reply reply{&value, sizeof value};
  if (CUresult error = device.channel->call(0, frame.data(), frame.size(), &reply)) return error;
  if (reply.received != sizeof value) return CUDA_ERROR_UNKNOWN;
  *granularity = value;
  const std::lock_guard lock(device.mutex);
  device.granularities[key] = value;
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                CUmemGenericAllocationHandle handle) {
  if (prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  PhysicalMemory* memory = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = find_memory(scope, handle, &memory)) return error;
  *prop = memory->properties;
  return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  VirtualMemory& book = scope.session->virtual_memory;
  const auto mapping = book.mapping_of(reinterpret_cast<CUdeviceptr>(addr));
  if (!mapping || !book.retain(*mapping->memory, true)) return CUDA_ERROR_INVALID_VALUE;
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(mapping->memory->handle);
  return CUDA_SUCCESS;
}

}  // namespace sluice::client::calls
