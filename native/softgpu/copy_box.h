// The ends of copies of two and three dimensions, as CUDA_MEMCPY2D, CUDA_MEMCPY3D and their relatives
// describe them: host memory, device memory and arrays.
#pragma once

#include "softgpu/array.h"
#include "softgpu/copy.h"

namespace sluice::softgpu {

struct BoxEnd {
  CUmemorytype type{};
  const void* host = nullptr;
  CUdeviceptr device = 0;
  CUarray array = nullptr;
  size_t pitch = 0;   // bytes from row to row; 0: rows without gaps
  size_t height = 0;  // rows from slice to slice; 0: as many as are copied
  size_t x = 0;       // bytes
  size_t y = 0;
  size_t z = 0;
};

// Where the end's first byte lies and how its rows follow. INVALID_VALUE for extents that do not fit or lie
// outside an array, INVALID_HANDLE for what is no array.
CUresult place_end(const BoxEnd& end, const CopyShape& shape, CopyEnd* out);

// A part of an array, in bytes, rows and slices; it must lie inside and at whole elements.
CUresult place_in_array(const Array& array, size_t x, size_t y, size_t z, const CopyShape& shape,
                        CopyEnd* out);

BoxEnd source_of(const CUDA_MEMCPY3D& what);
BoxEnd destination_of(const CUDA_MEMCPY3D& what);

// A stream brings its own context; without one the current context counts.
CUresult copy_context(CUstream stream, Context** out);

// A box from anywhere to anywhere, in the stream's order.
CUresult copy_box(const BoxEnd& destination, const BoxEnd& source, const CopyShape& shape, CUstream stream,
                  CopyMode mode);

}  // namespace sluice::softgpu
