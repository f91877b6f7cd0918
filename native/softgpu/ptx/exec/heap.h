// Device-side malloc and free. One heap for the process, as a device has one per context; blocks are
// host memory, known here so that accesses can be checked.
#pragma once

#include <cstdint>

namespace sluice::ptx {

// Address of a new block of `bytes`, 16-byte aligned; 0 when `bytes` is 0 or the heap (8 MiB, the
// default of CU_LIMIT_MALLOC_HEAP_SIZE) is full.
uint64_t heap_allocate(uint64_t bytes);
// Frees a block; false when `address` is not one.
bool heap_free(uint64_t address);
bool heap_contains(uint64_t address, uint64_t bytes);

}  // namespace sluice::ptx
