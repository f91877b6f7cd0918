#include "client/host_shape.h"

#include <algorithm>
#include <cstring>

namespace sluice::client {
namespace {

// Calls `body(place in the box, packed place, bytes)` for each run that lies together in both.
template <typename Body>
void for_each_run(const HostShape& shape, size_t offset, size_t bytes, Body&& body) {
  const BoxExtent& box = shape.extent;
  if (shape.is_packed()) return body(offset, size_t{0}, bytes);
  size_t row = offset / box.width;
  size_t column = offset % box.width;
  for (size_t done = 0; done < bytes; row++, column = 0) {
    const size_t run = std::min(bytes - done, box.width - column);
    body(row / box.height * shape.slice + row % box.height * shape.pitch + column, done, run);
    done += run;
  }
}

}  // namespace

void gather(const HostShape& shape, const uint8_t* base, size_t offset, size_t bytes, uint8_t* packed) {
  for_each_run(shape, offset, bytes,
               [&](size_t place, size_t at, size_t run) { std::memcpy(packed + at, base + place, run); });
}

void scatter(const HostShape& shape, uint8_t* base, size_t offset, size_t bytes, const uint8_t* packed) {
  for_each_run(shape, offset, bytes,
               [&](size_t place, size_t at, size_t run) { std::memcpy(base + place, packed + at, run); });
}

}  // namespace sluice::client
