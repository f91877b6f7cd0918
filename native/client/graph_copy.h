// Copies of graphs that touch the client's memory: rows that travel packed.
#pragma once

#include <cstdint>
#include <vector>

#include "client/graph.h"

namespace sluice::client {

// Whether the worker asks for the bytes; else it sends them, or they stay in the client.
bool is_sent(const CUDA_MEMCPY3D& copy);
// The rows of the source, one after the other.
void gather_rows(const CUDA_MEMCPY3D& copy, std::vector<uint8_t>* bytes);
void copy_within_client(const CUDA_MEMCPY3D& copy);
// Where bytes from the worker go; null for bytes that the copy does not have.
void* row_target(GraphTask& task, uint64_t offset, uint64_t bytes);
// The bytes below `end` have come.
void rows_arrived(GraphTask& task, uint64_t end);

}  // namespace sluice::client
