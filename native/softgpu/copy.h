// Copies between any two of pageable host, pinned host and device memory, in one to three dimensions.
#pragma once

#include <cstdint>

#include "common/cuda_types.h"

namespace sluice::softgpu {

class Context;

// What the caller said that an address is. A host address that the driver knows is treated as what it is.
enum class Side { kDevice, kHost, kUnified };

struct CopyEnd {
  uint64_t address = 0;
  Side side = Side::kUnified;
  size_t pitch = 0;  // bytes from row to row
  size_t slice = 0;  // bytes from plane to plane
};

struct CopyShape {
  size_t width = 0;  // bytes
  size_t height = 1;
  size_t depth = 1;
};

enum class CopyMode {
  kSynchronous,
  kAsynchronous,
  kStreamOrdered,  // pageable memory, too, is read and written when the stream has come to the copy
};

// Whether both ends lie in memory that the driver knows as what it is said to be.
CUresult check_copy(const CopyEnd& destination, const CopyEnd& source, const CopyShape& shape);

// Checks both ends, then copies in the stream's order. Returns when CUDA's rules for the kind of memory say
// so: a synchronous copy when it is done, except between two device addresses; an asynchronous one at once,
// except that pageable host memory has been read or written by then.
CUresult copy(Context& context, const CopyEnd& destination, const CopyEnd& source, const CopyShape& shape,
              CUstream stream, CopyMode mode);

}  // namespace sluice::softgpu
