// Copies of two and three dimensions, and of arrays: a box of bytes from anywhere to anywhere.
#pragma once

#include "client/host_shape.h"
#include "client/scope.h"

namespace sluice::client {

// One end of a copy as the structures of the API describe it.
struct BoxEndGiven {
  CUmemorytype type{};
  const void* host = nullptr;
  CUdeviceptr device = 0;
  CUarray array = nullptr;
  CUcontext context = nullptr;  // of copies between peers
  size_t pitch = 0;             // bytes from row to row; 0: rows without gaps
  size_t height = 0;            // rows from slice to slice; 0: as many as are copied
  size_t x = 0;                 // bytes
  size_t y = 0;
  size_t z = 0;
};

enum class BoxMode {
  synchronous,
  asynchronous,
  stream_ordered,  // pageable memory, too, is read and written when the stream has come to the copy
};

// The whole call, from the checks on. The errors are those that CUDA gives at once: INVALID_VALUE for extents
// that do not fit or leave an allocation or an array, INVALID_HANDLE for what is no array.
CUresult copy_box(const BoxEndGiven& dst, const BoxEndGiven& src, const BoxExtent& extent, CUstream stream,
                  BoxMode mode);

}  // namespace sluice::client
