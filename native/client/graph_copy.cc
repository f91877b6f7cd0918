#include "client/graph_copy.h"

#include <cstring>

namespace sluice::client {
namespace {

const uint8_t* source_row(const CUDA_MEMCPY3D& c, size_t y, size_t z) {
  return static_cast<const uint8_t*>(c.srcHost) + ((z + c.srcZ) * c.srcHeight + y + c.srcY) * c.srcPitch +
         c.srcXInBytes;
}

uint8_t* target_row(const CUDA_MEMCPY3D& c, size_t y, size_t z) {
  return static_cast<uint8_t*>(c.dstHost) + ((z + c.dstZ) * c.dstHeight + y + c.dstY) * c.dstPitch +
         c.dstXInBytes;
}

size_t total(const CUDA_MEMCPY3D& c) { return c.WidthInBytes * c.Height * c.Depth; }

// Whether the rows of the target lie one after the other.
bool target_is_packed(const CUDA_MEMCPY3D& c) {
  return (c.Height == 1 && c.Depth == 1) ||
         (c.dstPitch == c.WidthInBytes && (c.Depth == 1 || c.dstHeight == c.Height));
}

}  // namespace

bool is_sent(const CUDA_MEMCPY3D& copy) { return copy.dstMemoryType != CU_MEMORYTYPE_HOST; }

void gather_rows(const CUDA_MEMCPY3D& copy, std::vector<uint8_t>* bytes) {
  bytes->resize(total(copy));
  uint8_t* into = bytes->data();
  for (size_t z = 0; z < copy.Depth; z++) {
    for (size_t y = 0; y < copy.Height; y++, into += copy.WidthInBytes) {
      std::memcpy(into, source_row(copy, y, z), copy.WidthInBytes);
    }
  }
}

void copy_within_client(const CUDA_MEMCPY3D& copy) {
  for (size_t z = 0; z < copy.Depth; z++) {
    for (size_t y = 0; y < copy.Height; y++) {
      std::memmove(target_row(copy, y, z), source_row(copy, y, z), copy.WidthInBytes);
    }
  }
}

void* row_target(GraphTask& task, uint64_t offset, uint64_t bytes) {
  const CUDA_MEMCPY3D& c = task.copy;
  const size_t all = total(c);
  if (!task.is_copy || is_sent(c) || offset > all || bytes > all - offset) return nullptr;
  if (target_is_packed(c)) return target_row(c, 0, 0) + offset;
  task.packed.resize(all);
  return task.packed.data() + offset;
}

void rows_arrived(GraphTask& task, uint64_t end) {
  const CUDA_MEMCPY3D& c = task.copy;
  if (end < total(c) || target_is_packed(c)) return;
  const uint8_t* from = task.packed.data();
  for (size_t z = 0; z < c.Depth; z++) {
    for (size_t y = 0; y < c.Height; y++, from += c.WidthInBytes) {
      std::memcpy(target_row(c, y, z), from, c.WidthInBytes);
    }
  }
}

}  // namespace sluice::client
