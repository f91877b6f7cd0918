// The private export tables. Identities, names and slot meanings: ZLUDA (dark_api/src/lib.rs).
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "common/log.h"
#include "contract/context_storage.h"
#include "contract/contract.h"
#include "contract/integrity.h"

namespace sluice::contract {
namespace {

// Written once by install(), before the pointer is published.
std::atomic<const Host*> installed{nullptr};

const Host* host() { return installed.load(std::memory_order_acquire); }

using Word = const void*;

template <typename Function>
Word slot(Function* function) {
  return reinterpret_cast<Word>(function);
}

CUresult accept() { return CUDA_SUCCESS; }

// The first four bytes of a table's id stand for it in log lines.
template <uint32_t kTable, size_t kSlot>
CUresult unknown_slot() {
  SLUICE_INFO("a library called slot %zu of the private table %08x, whose meaning is not known", kSlot,
              kTable);
  return CUDA_ERROR_NOT_SUPPORTED;
}

// A table whose first word is its own size in bytes, and whose other slots refuse until they are set.
template <uint32_t kTable, size_t kWords>
std::array<Word, kWords> sized_table() {
  std::array<Word, kWords> table = []<size_t... kSlots>(std::index_sequence<kSlots...>) {
    return std::array<Word, kWords>{slot(unknown_slot<kTable, kSlots>)...};
  }
  (std::make_index_sequence<kWords>());
  table[0] = reinterpret_cast<Word>(kWords * sizeof(Word));
  return table;
}

// CUDART_INTERFACE

CUresult load_module(CUmodule* module, const void* image) {
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return host()->load_module(module, image);
}

CUresult load_module_extended(CUmodule* module, const void* image, void*, void*, unsigned) {
  return load_module(module, image);
}

CUresult load_container_extended(const void* container, CUmodule* module, void*, void*, unsigned) {
  return load_module(module, container);
}

CUresult primary_context(CUcontext* context, CUdevice device) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return host()->primary_context(context, device);
}

void module_unregistered(size_t) {}

const auto& runtime_table() {
  static const auto table = [] {
    auto t = sized_table<0x6bd5fb6c, 13>();
    t[1] = slot(load_module);
    t[2] = slot(primary_context);
    t[6] = slot(load_module_extended);
    t[7] = slot(module_unregistered);
    t[8] = slot(load_container_extended);
    t[12] = slot(accept);  // the PTX compiler is always there
    return t;
  }();
  return table;
}

// TOOLS_RUNTIME_CALLBACK_HOOKS: flags by which a profiler switches callbacks on; all stay zero.

constexpr size_t kHookBytes = 1024;  // smaller buffers crash some runtime versions
constexpr size_t kShortHookBytes = 14;
alignas(64) unsigned char hook_flags[kHookBytes];
alignas(64) unsigned char short_hook_flags[kShortHookBytes];

void hook_buffer(void** buffer, size_t* bytes) {
  if (buffer != nullptr) *buffer = hook_flags;
  if (bytes != nullptr) *bytes = kHookBytes;
}

void short_hook_buffer(void** buffer, size_t* bytes) {
  if (buffer != nullptr) *buffer = short_hook_flags;
  if (bytes != nullptr) *bytes = kShortHookBytes;
}

const auto& hooks_table() {
  static const auto table = [] {
    auto t = sized_table<0xa094798c, 7>();
    t[1] = slot(accept);
    t[2] = slot(hook_buffer);
    t[4] = slot(accept);
    t[6] = slot(short_hook_buffer);
    return t;
  }();
  return table;
}

// TOOLS_TLS

CUresult tls_current_context(CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return host()->current_context(context);
}

const auto& tls_table() {
  static const auto table = [] {
    auto t = sized_table<0x42d85a81, 4>();
    t[2] = slot(tls_current_context);
    return t;
  }();
  return table;
}

// CONTEXT_LOCAL_STORAGE_V0301

// Null and all ones both mean the calling thread's current context.
CUresult resolve(CUcontext* context) {
  if (*context != nullptr && reinterpret_cast<intptr_t>(*context) != -1) return CUDA_SUCCESS;
  *context = nullptr;
  if (const CUresult result = host()->current_context(context); result != CUDA_SUCCESS) return result;
  return *context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

CUresult local_storage_put(CUcontext context, void* key, void* value, StorageDestructor destructor) {
  if (const CUresult result = resolve(&context); result != CUDA_SUCCESS) return result;
  storage_put(context, key, value, destructor);
  return CUDA_SUCCESS;
}

CUresult local_storage_delete(CUcontext context, void* key) {
  if (const CUresult result = resolve(&context); result != CUDA_SUCCESS) return result;
  return storage_remove(context, key) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult local_storage_get(void** value, CUcontext context, void* key) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = resolve(&context); result != CUDA_SUCCESS) return result;
  return storage_get(context, key, value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

// The only table without a size word; it ends with a null.
const auto& local_storage_table() {
  static const std::array<Word, 4> table = {slot(local_storage_put), slot(local_storage_delete),
                                            slot(local_storage_get), nullptr};
  return table;
}

// CONTEXT_CHECKS

CUresult context_check(CUcontext, uint32_t* result, const void**) {
  if (result != nullptr) *result = 0;
  return CUDA_SUCCESS;
}

uint32_t context_check_state() { return 0; }

const auto& context_checks_table() {
  static const auto table = [] {
    auto t = sized_table<0x263e8860, 4>();
    t[2] = slot(context_check);
    t[3] = slot(context_check_state);
    return t;
  }();
  return table;
}

// INTEGRITY_CHECK

CUresult integrity_check(uint32_t version, uint64_t unix_seconds, uint64_t* answer);

const auto& integrity_table() {
  static const auto table = [] {
    auto t = sized_table<0xd4082055, 3>();
    t[1] = slot(integrity_check);
    return t;
  }();
  return table;
}

CUresult integrity_check(uint32_t version, uint64_t unix_seconds, uint64_t* answer) {
  if (answer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Host& h = *host();
  std::vector<DeviceIdentity> devices(static_cast<size_t>(h.device_count()));
  for (size_t i = 0; i < devices.size(); ++i) {
    const CUresult result = h.device_identity(static_cast<int>(i), &devices[i]);
    if (result != CUDA_SUCCESS) return result;
  }
  const IntegrityInput input{
      .driver_version = static_cast<uint32_t>(h.driver_version()),
      .version = version,
      .process_id = static_cast<uint32_t>(getpid()),
      .thread_low = static_cast<uint32_t>(pthread_self()),
      .runtime_table = runtime_table().data(),
      .integrity_table = integrity_table().data(),
      .integrity_function = integrity_table()[1],
      .unix_seconds = unix_seconds,
  };
  integrity_answer(input, devices, answer);
  return CUDA_SUCCESS;
}

// Context identity, private to the cuBLAS family: without it every matrix product is refused by cuBLASLt.

CUresult identity_device(CUcontext context, CUdevice* device) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = resolve(&context); result != CUDA_SUCCESS) return result;
  return host()->context_device(context, device);
}

CUresult identity_id(CUcontext context, unsigned long long* id) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = resolve(&context); result != CUDA_SUCCESS) return result;
  return host()->context_id(context, id);
}

// What the caller passes on to identity_stream_id is the driver's own object behind a stream; the handle
// serves as well. The null stream is one of the two default streams.
CUresult identity_stream(CUcontext, CUstream stream, CUstream* object, int per_thread) {
  if (object == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *object = stream != nullptr ? stream : per_thread != 0 ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  return CUDA_SUCCESS;
}

CUresult identity_stream_id(CUcontext, CUstream object, unsigned long long* id) {
  if (object == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return host()->stream_id(object, id);
}

const auto& identity_table() {
  static const auto table = [] {
    auto t = sized_table<0x21318c60, 92>();
    t[3] = slot(identity_device);
    t[4] = slot(identity_id);
    t[39] = slot(identity_stream_id);
    t[51] = slot(identity_stream);
    return t;
  }();
  return table;
}

struct Known {
  unsigned char id[16];
  const Word* (*table)();
};

constexpr Known kKnown[] = {
    {{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9},
     [] { return runtime_table().data(); }},
    {{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a, 0x66},
     [] { return hooks_table().data(); }},
    {{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec, 0xdc},
     [] { return tls_table().data(); }},
    {{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95, 0x93},
     [] { return local_storage_table().data(); }},
    {{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa, 0x7e},
     [] { return context_checks_table().data(); }},
    {{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2},
     [] { return integrity_table().data(); }},
    {{0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8, 0xf2},
     [] { return identity_table().data(); }},
};

}  // namespace

void install(const Host& given) {
  const Host* expected = nullptr;
  const Host* copy = new Host(given);  // lives as long as the process: tables refer to it until exit
  if (!installed.compare_exchange_strong(expected, copy, std::memory_order_acq_rel)) delete copy;
}

CUresult export_table(const void** table, const CUuuid* id) {
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  if (host() == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  for (const Known& known : kKnown) {
    if (std::memcmp(known.id, id->bytes, sizeof(known.id)) == 0) {
      *table = known.table();
      return CUDA_SUCCESS;
    }
  }
  SLUICE_INFO("a library asked for the private table %02x%02x%02x%02x…, which is not known",
              static_cast<unsigned char>(id->bytes[0]), static_cast<unsigned char>(id->bytes[1]),
              static_cast<unsigned char>(id->bytes[2]), static_cast<unsigned char>(id->bytes[3]));
  return CUDA_ERROR_NOT_FOUND;
}

void context_destroyed(CUcontext context) { storage_clear(context); }

}  // namespace sluice::contract
