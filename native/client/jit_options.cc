#include "client/jit_options.h"

#include <algorithm>
#include <cstring>

namespace sluice::client {
namespace {

constexpr size_t kMaxLog = 1u << 20;

}  // namespace

bool put_options(const JitOptions& options, wire::Writer& arguments, JitOutputs* outputs) {
  wire::Writer values;
  uint32_t count = 0;
  for (unsigned i = 0; i < options.count; i++) {
    void** slot = &options.values[i];
    const auto number = reinterpret_cast<uint64_t>(*slot);
    switch (options.names[i]) {
      case CU_JIT_WALL_TIME:
        outputs->wall_time = reinterpret_cast<float*>(slot);
        break;
      case CU_JIT_INFO_LOG_BUFFER:
        outputs->info = static_cast<char*>(*slot);
        break;
      case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        outputs->info_size = slot;
        outputs->info_bytes = number & 0xffffffffu;
        break;
      case CU_JIT_ERROR_LOG_BUFFER:
        outputs->error = static_cast<char*>(*slot);
        break;
      case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        outputs->error_size = slot;
        outputs->error_bytes = number & 0xffffffffu;
        break;
      case CU_JIT_GLOBAL_SYMBOL_NAMES:
      case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
      case CU_JIT_GLOBAL_SYMBOL_COUNT:
      case CU_JIT_REFERENCED_KERNEL_NAMES:
      case CU_JIT_REFERENCED_KERNEL_COUNT:
      case CU_JIT_REFERENCED_VARIABLE_NAMES:
      case CU_JIT_REFERENCED_VARIABLE_COUNT:
        return false;
      default:
        values.put(static_cast<int32_t>(options.names[i]));
        values.put(number);
        count++;
    }
  }
  arguments.put(static_cast<uint32_t>(std::min(outputs->info_bytes, kMaxLog)));
  arguments.put(static_cast<uint32_t>(std::min(outputs->error_bytes, kMaxLog)));
  arguments.put(count);
  arguments.bytes(values.data(), values.size());
  return true;
}

void write_log(const std::string& text, char* into, size_t capacity, void** size) {
  const size_t bytes = capacity == 0 ? 0 : std::min(text.size(), capacity - 1);
  if (into != nullptr && capacity > 0) {
    std::memcpy(into, text.data(), bytes);
    into[bytes] = '\0';
  }
  if (size != nullptr) *size = reinterpret_cast<void*>(bytes);
}

}  // namespace sluice::client
