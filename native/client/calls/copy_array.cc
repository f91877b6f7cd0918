// Copies between arrays and memory that count bytes from the array's beginning, row after row and slice after
// slice: they are cut where rows and slices end.
#include <algorithm>

#include "client/box_copy.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {
namespace {

// A place in an array by its offset.
struct Cursor {
  Array* array = nullptr;
  CUarray handle = nullptr;
  size_t offset = 0;

  size_t row_bytes() const { return array->extent.row_bytes; }
  size_t left_in_row() const { return row_bytes() - offset % row_bytes(); }
  // Whole rows from here to the end of the slice; 0 inside a row.
  size_t whole_rows() const {
    if (offset % row_bytes() != 0) return 0;
    return array->extent.rows - offset / row_bytes() % array->extent.rows;
  }
  BoxEndGiven end() const {
    const size_t row = offset / row_bytes();
    BoxEndGiven out;
    out.type = CU_MEMORYTYPE_ARRAY;
    out.array = handle;
    out.x = offset % row_bytes();
    out.y = row % array->extent.rows;
    out.z = row / array->extent.rows;
    return out;
  }
};

CUresult find(Scope& scope, CUarray handle, size_t offset, size_t bytes, Cursor* out) {
  if (CUresult error = scope.enter()) return error;
  *out = {scope.session->arrays.find(handle), handle, offset};
  if (out->array == nullptr || !out->array->alive()) return CUDA_ERROR_INVALID_HANDLE;
  const uint32_t element = out->array->element.bytes;
  if (element == 0 || offset % element != 0 || bytes % element != 0) return CUDA_ERROR_INVALID_VALUE;
  const size_t all = out->row_bytes() * out->array->extent.rows * out->array->extent.slices;
  return offset <= all && bytes <= all - offset ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

enum class Direction { to_array, from_array };

CUresult copy(CUarray handle, size_t offset, const BoxEndGiven& memory, size_t bytes, Direction direction,
              CUstream stream, BoxMode mode) {
  Scope scope;
  Cursor cursor;
  if (CUresult error = find(scope, handle, offset, bytes, &cursor)) return error;
  for (size_t done = 0; done < bytes;) {
    const size_t left = bytes - done;
    const size_t rows = std::min(cursor.whole_rows(), left / cursor.row_bytes());
    const BoxExtent extent = rows > 0 ? BoxExtent{cursor.row_bytes(), rows, 1}
                                      : BoxExtent{std::min(left, cursor.left_in_row()), 1, 1};
    BoxEndGiven linear = memory;
    if (linear.host != nullptr) linear.host = static_cast<const uint8_t*>(linear.host) + done;
    if (linear.device != 0) linear.device += done;
    const BoxEndGiven end = cursor.end();
    if (CUresult error = direction == Direction::to_array ? copy_box(end, linear, extent, stream, mode)
                                                          : copy_box(linear, end, extent, stream, mode)) {
      return error;
    }
    cursor.offset += extent.bytes();
    done += extent.bytes();
  }
  return CUDA_SUCCESS;
}

BoxEndGiven host(const void* address) {
  BoxEndGiven end;
  end.type = CU_MEMORYTYPE_HOST;
  end.host = address;
  return end;
}

BoxEndGiven device(CUdeviceptr address) {
  BoxEndGiven end;
  end.type = CU_MEMORYTYPE_DEVICE;
  end.device = address;
  return end;
}

constexpr BoxMode kSync = BoxMode::synchronous;
constexpr BoxMode kAsync = BoxMode::asynchronous;

}  // namespace

CUresult cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void* srcHost, size_t ByteCount,
                         CUstream stream) {
  return copy(dstArray, dstOffset, host(srcHost), ByteCount, Direction::to_array, stream, kSync);
}
CUresult cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void* srcHost, size_t ByteCount,
                              CUstream hStream) {
  return copy(dstArray, dstOffset, host(srcHost), ByteCount, Direction::to_array, hStream, kAsync);
}
CUresult cuMemcpyAtoH_v2(void* dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount,
                         CUstream stream) {
  return copy(srcArray, srcOffset, host(dstHost), ByteCount, Direction::from_array, stream, kSync);
}
CUresult cuMemcpyAtoHAsync_v2(void* dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount,
                              CUstream hStream) {
  return copy(srcArray, srcOffset, host(dstHost), ByteCount, Direction::from_array, hStream, kAsync);
}
CUresult cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount,
                         CUstream stream) {
  return copy(dstArray, dstOffset, device(srcDevice), ByteCount, Direction::to_array, stream, kSync);
}
CUresult cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount,
                         CUstream stream) {
  return copy(srcArray, srcOffset, device(dstDevice), ByteCount, Direction::from_array, stream, kSync);
}

CUresult cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset,
                         size_t ByteCount, CUstream stream) {
  Scope scope;
  Cursor to;
  Cursor from;
  if (CUresult error = find(scope, dstArray, dstOffset, ByteCount, &to)) return error;
  if (CUresult error = find(scope, srcArray, srcOffset, ByteCount, &from)) return error;
  if (to.array->element.bytes != from.array->element.bytes) return CUDA_ERROR_INVALID_VALUE;
  while (ByteCount > 0) {
    const size_t part = std::min({ByteCount, to.left_in_row(), from.left_in_row()});
    if (CUresult error = copy_box(to.end(), from.end(), {part, 1, 1}, stream, kSync)) return error;
    to.offset += part;
    from.offset += part;
    ByteCount -= part;
  }
  return CUDA_SUCCESS;
}

}  // namespace sluice::client::calls
