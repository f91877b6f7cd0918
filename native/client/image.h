// What kind of code a pointer points at, and how long it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::client {

enum class ImageKind : uint8_t { ptx = 1, elf = 2, container = 3 };

struct ImageBytes {
  ImageKind kind;
  const void* data;
  size_t size;
};

// Follows a fatbin wrapper to its container and finds the length of a container, an ELF file or PTX
// text. False when it is none of them.
bool image_at(const void* pointer, ImageBytes* image);

}  // namespace sluice::client
