// The answer to a runtime library's integrity check.
#pragma once

#include <cstdint>
#include <span>

#include "contract/contract.h"

namespace sluice::contract {

// What the check hashes besides the devices. Pointers are those that the library itself received.
struct IntegrityInput {
  uint32_t driver_version;  // as cuDriverGetVersion returns it
  uint32_t version;         // the library's argument: its own version, plus 0, 1 or 2
  uint32_t process_id;
  uint32_t thread_low;  // low half of pthread_self()
  const void* runtime_table;
  const void* integrity_table;
  const void* integrity_function;
  uint64_t unix_seconds;
};

// Writes the 16-byte answer as two little-endian words.
void integrity_answer(const IntegrityInput& input, std::span<const DeviceIdentity> devices,
                      uint64_t answer[2]);

}  // namespace sluice::contract
