// How the exported functions are written: declared with SLUICE_API, their bodies run by api(), their names
// listed in a table per file from which cuGetProcAddress answers.
#pragma once

#include <new>
#include <span>

#include "common/cuda_resource_types.h"
#include "common/cuda_types.h"
#include "common/log.h"

#define SLUICE_API extern "C" __attribute__((visibility("default"))) CUresult

// Returns from the enclosing function when the call fails.
#define SLUICE_TRY(call)                                                    \
  do {                                                                      \
    if (const CUresult tried = (call); tried != CUDA_SUCCESS) return tried; \
  } while (false)

// Defines a function and its twin for the per-thread default stream: the same body, in which pick(stream)
// turns the null stream into the default stream that the function means.
#define SLUICE_API_PAIR(symbol, suffix, parameters, ...)                         \
  SLUICE_API symbol parameters {                                                 \
    constexpr ::sluice::softgpu::DefaultStream pick{CU_STREAM_LEGACY_VALUE};     \
    return ::sluice::softgpu::api([&]() -> CUresult { __VA_ARGS__ });            \
  }                                                                              \
  SLUICE_API symbol##suffix parameters {                                         \
    constexpr ::sluice::softgpu::DefaultStream pick{CU_STREAM_PER_THREAD_VALUE}; \
    return ::sluice::softgpu::api([&]() -> CUresult { __VA_ARGS__ });            \
  }

namespace sluice::softgpu {

constexpr uintptr_t CU_STREAM_LEGACY_VALUE = 1;
constexpr uintptr_t CU_STREAM_PER_THREAD_VALUE = 2;

struct DefaultStream {
  uintptr_t value;
  CUstream operator()(CUstream stream) const {
    return stream == nullptr ? reinterpret_cast<CUstream>(value) : stream;
  }
};

// One name as cuGetProcAddress knows it: the CUDA version in which this form of the function appeared
// (major * 1000 + minor * 10), the function, and its twin for the per-thread default stream if it has one.
struct Entry {
  const char* name;
  int version;
  void* function;
  void* per_thread;
};

#define SLUICE_ENTRY(name, version, symbol) \
  ::sluice::softgpu::Entry { name, version, reinterpret_cast<void*>(&symbol), nullptr }
#define SLUICE_ENTRY_PAIR(name, version, symbol, suffix)                                      \
  ::sluice::softgpu::Entry {                                                                  \
    name, version, reinterpret_cast<void*>(&symbol), reinterpret_cast<void*>(&symbol##suffix) \
  }

// CUDA_SUCCESS after cuInit; NOT_INITIALIZED before it and in the child of a fork.
CUresult check_initialized();

// Runs the body of an exported function: nothing is thrown into the caller.
template <typename Body>
CUresult api(Body&& body) noexcept {
  try {
    SLUICE_TRY(check_initialized());
    return body();
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    SLUICE_ERROR("an unexpected exception ended a driver call");
    return CUDA_ERROR_UNKNOWN;
  }
}

// One table per file of exported functions.
std::span<const Entry> driver_entries();
std::span<const Entry> device_entries();
std::span<const Entry> context_entries();
std::span<const Entry> memory_entries();
std::span<const Entry> managed_entries();
std::span<const Entry> host_memory_entries();
std::span<const Entry> pointer_entries();
std::span<const Entry> pool_entries();
std::span<const Entry> copy_entries();
std::span<const Entry> copy_2d_entries();
std::span<const Entry> copy_array_entries();
std::span<const Entry> copy_batch_entries();
std::span<const Entry> array_entries();
std::span<const Entry> texture_entries();
std::span<const Entry> texture_reference_entries();
std::span<const Entry> tensor_map_entries();
std::span<const Entry> memset_entries();
std::span<const Entry> stream_entries();
std::span<const Entry> event_entries();
std::span<const Entry> module_entries();
std::span<const Entry> library_entries();
std::span<const Entry> function_entries();
std::span<const Entry> launch_entries();
std::span<const Entry> occupancy_entries();
std::span<const Entry> link_entries();
std::span<const Entry> error_entries();
std::span<const Entry> legacy_entries();
std::span<const Entry> capture_entries();
std::span<const Entry> graph_entries();
std::span<const Entry> graph_node_entries();
std::span<const Entry> graph_exec_entries();
std::span<const Entry> virtual_memory_entries();
std::span<const Entry> stream_memory_entries();
std::span<const Entry> stream_attribute_entries();
std::span<const Entry> old_launch_entries();

}  // namespace sluice::softgpu
