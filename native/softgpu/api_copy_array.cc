// Copies between arrays and memory that count bytes from the array's beginning, row after row.
#include <algorithm>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/copy_box.h"

namespace sluice::softgpu {
namespace {

// A place in an array by its offset: rows follow each other without gaps, and so do slices.
struct Cursor {
  const Array* array = nullptr;
  size_t offset = 0;

  size_t row_bytes() const { return array->extent.row_bytes; }
  size_t left_in_row() const { return row_bytes() - offset % row_bytes(); }
  // Whole rows from here to the end of the slice; 0 inside a row.
  size_t whole_rows() const {
    if (offset % row_bytes() != 0) return 0;
    return array->extent.rows - offset / row_bytes() % array->extent.rows;
  }
  CUresult place(const CopyShape& shape, CopyEnd* out) const {
    const size_t row = offset / row_bytes();
    return place_in_array(*array, offset % row_bytes(), row % array->extent.rows, row / array->extent.rows,
                          shape, out);
  }
  bool holds(size_t bytes) const {
    const size_t all = array->slice() * array->extent.slices;
    return offset <= all && bytes <= all - offset;
  }
};

CUresult find_array(CUarray handle, size_t offset, size_t bytes, Cursor* out) {
  out->array = lookup<Array>(handle);
  out->offset = offset;
  if (out->array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const uint32_t element = out->array->element.bytes;
  if (element == 0 || offset % element != 0 || bytes % element != 0) return CUDA_ERROR_INVALID_VALUE;
  return out->holds(bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Cuts the bytes where rows and slices of the array end: at most whole rows of one slice at a time.
template <typename Copy>
CUresult for_each_box(Cursor cursor, size_t bytes, Copy&& body) {
  for (size_t done = 0; done < bytes;) {
    const size_t left = bytes - done;
    const size_t rows = std::min(cursor.whole_rows(), left / cursor.row_bytes());
    const CopyShape shape = rows > 0 ? CopyShape{cursor.row_bytes(), rows, 1}
                                     : CopyShape{std::min(left, cursor.left_in_row()), 1, 1};
    CopyEnd end;
    SLUICE_TRY(cursor.place(shape, &end));
    SLUICE_TRY(body(end, shape, done));
    cursor.offset += shape.width * shape.height;
    done += shape.width * shape.height;
  }
  return CUDA_SUCCESS;
}

enum class Direction { kToArray, kFromArray };

CUresult copy_linear(CUarray handle, size_t offset, uint64_t address, Side side, size_t bytes,
                     Direction direction, CUstream stream, CopyMode mode) {
  Context* context;
  SLUICE_TRY(copy_context(stream, &context));
  Cursor cursor;
  SLUICE_TRY(find_array(handle, offset, bytes, &cursor));
  if (bytes > 0 && address == 0) return CUDA_ERROR_INVALID_VALUE;
  return for_each_box(cursor, bytes, [&](const CopyEnd& in_array, const CopyShape& shape, size_t done) {
    const CopyEnd linear{address + done, side, shape.width, shape.width * shape.height};
    return direction == Direction::kToArray ? copy(*context, in_array, linear, shape, stream, mode)
                                            : copy(*context, linear, in_array, shape, stream, mode);
  });
}

CUresult copy_arrays(CUarray to_handle, size_t to_offset, CUarray from_handle, size_t from_offset,
                     size_t bytes, CUstream stream) {
  Context* context;
  SLUICE_TRY(copy_context(stream, &context));
  Cursor to, from;
  SLUICE_TRY(find_array(to_handle, to_offset, bytes, &to));
  SLUICE_TRY(find_array(from_handle, from_offset, bytes, &from));
  if (to.array->element.bytes != from.array->element.bytes) return CUDA_ERROR_INVALID_VALUE;
  while (bytes > 0) {
    const size_t part = std::min({bytes, to.left_in_row(), from.left_in_row()});
    const CopyShape shape{part, 1, 1};
    CopyEnd to_end, from_end;
    SLUICE_TRY(to.place(shape, &to_end));
    SLUICE_TRY(from.place(shape, &from_end));
    SLUICE_TRY(copy(*context, to_end, from_end, shape, stream, CopyMode::kSynchronous));
    to.offset += part;
    from.offset += part;
    bytes -= part;
  }
  return CUDA_SUCCESS;
}

CUresult from_host(CUarray to, size_t offset, const void* from, size_t n, CUstream stream, CopyMode mode) {
  return copy_linear(to, offset, reinterpret_cast<uint64_t>(from), Side::kHost, n, Direction::kToArray,
                     stream, mode);
}
CUresult to_host(void* to, CUarray from, size_t offset, size_t n, CUstream stream, CopyMode mode) {
  return copy_linear(from, offset, reinterpret_cast<uint64_t>(to), Side::kHost, n, Direction::kFromArray,
                     stream, mode);
}
CUresult from_device(CUarray to, size_t offset, CUdeviceptr from, size_t n, CUstream stream) {
  return copy_linear(to, offset, from, Side::kDevice, n, Direction::kToArray, stream, CopyMode::kSynchronous);
}
CUresult to_device(CUdeviceptr to, CUarray from, size_t offset, size_t n, CUstream stream) {
  return copy_linear(from, offset, to, Side::kDevice, n, Direction::kFromArray, stream,
                     CopyMode::kSynchronous);
}

constexpr CopyMode kSync = CopyMode::kSynchronous;
constexpr CopyMode kAsync = CopyMode::kAsynchronous;

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API_PAIR(cuMemcpyHtoA_v2, _ptds, (CUarray to, size_t offset, const void* from, size_t n),
                return from_host(to, offset, from, n, pick(nullptr), kSync);)
SLUICE_API_PAIR(cuMemcpyAtoH_v2, _ptds, (void* to, CUarray from, size_t offset, size_t n),
                return to_host(to, from, offset, n, pick(nullptr), kSync);)
SLUICE_API_PAIR(cuMemcpyDtoA_v2, _ptds, (CUarray to, size_t offset, CUdeviceptr from, size_t n),
                return from_device(to, offset, from, n, pick(nullptr));)
SLUICE_API_PAIR(cuMemcpyAtoD_v2, _ptds, (CUdeviceptr to, CUarray from, size_t offset, size_t n),
                return to_device(to, from, offset, n, pick(nullptr));)
SLUICE_API_PAIR(cuMemcpyAtoA_v2, _ptds,
                (CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t n),
                return copy_arrays(to, to_offset, from, from_offset, n, pick(nullptr));)
SLUICE_API_PAIR(cuMemcpyHtoAAsync_v2, _ptsz,
                (CUarray to, size_t offset, const void* from, size_t n, CUstream stream),
                return from_host(to, offset, from, n, pick(stream), kAsync);)
SLUICE_API_PAIR(cuMemcpyAtoHAsync_v2, _ptsz,
                (void* to, CUarray from, size_t offset, size_t n, CUstream stream),
                return to_host(to, from, offset, n, pick(stream), kAsync);)

// The forms before CUDA 3.2, with numbers of 32 bits.
SLUICE_API cuMemcpyHtoA(CUarray to, unsigned offset, const void* from, unsigned n) {
  return api([&] { return from_host(to, offset, from, n, nullptr, kSync); });
}
SLUICE_API cuMemcpyAtoH(void* to, CUarray from, unsigned offset, unsigned n) {
  return api([&] { return to_host(to, from, offset, n, nullptr, kSync); });
}
SLUICE_API cuMemcpyDtoA(CUarray to, unsigned offset, CUdeviceptr_v1 from, unsigned n) {
  return api([&] { return from_device(to, offset, from, n, nullptr); });
}
SLUICE_API cuMemcpyAtoD(CUdeviceptr_v1 to, CUarray from, unsigned offset, unsigned n) {
  return api([&] { return to_device(to, from, offset, n, nullptr); });
}
SLUICE_API cuMemcpyAtoA(CUarray to, unsigned to_offset, CUarray from, unsigned from_offset, unsigned n) {
  return api([&] { return copy_arrays(to, to_offset, from, from_offset, n, nullptr); });
}
SLUICE_API cuMemcpyHtoAAsync(CUarray to, unsigned offset, const void* from, unsigned n, CUstream stream) {
  return api([&] { return from_host(to, offset, from, n, stream, kAsync); });
}
SLUICE_API cuMemcpyAtoHAsync(void* to, CUarray from, unsigned offset, unsigned n, CUstream stream) {
  return api([&] { return to_host(to, from, offset, n, stream, kAsync); });
}

namespace sluice::softgpu {

std::span<const Entry> copy_array_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuMemcpyHtoA", 2000, cuMemcpyHtoA),
      SLUICE_ENTRY("cuMemcpyAtoH", 2000, cuMemcpyAtoH),
      SLUICE_ENTRY("cuMemcpyDtoA", 2000, cuMemcpyDtoA),
      SLUICE_ENTRY("cuMemcpyAtoD", 2000, cuMemcpyAtoD),
      SLUICE_ENTRY("cuMemcpyAtoA", 2000, cuMemcpyAtoA),
      SLUICE_ENTRY("cuMemcpyHtoAAsync", 2000, cuMemcpyHtoAAsync),
      SLUICE_ENTRY("cuMemcpyAtoHAsync", 2000, cuMemcpyAtoHAsync),
      SLUICE_ENTRY_PAIR("cuMemcpyHtoA", 3020, cuMemcpyHtoA_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemcpyAtoH", 3020, cuMemcpyAtoH_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemcpyDtoA", 3020, cuMemcpyDtoA_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemcpyAtoD", 3020, cuMemcpyAtoD_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemcpyAtoA", 3020, cuMemcpyAtoA_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemcpyHtoAAsync", 3020, cuMemcpyHtoAAsync_v2, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemcpyAtoHAsync", 3020, cuMemcpyAtoHAsync_v2, _ptsz),
  };
  return entries;
}

}  // namespace sluice::softgpu
