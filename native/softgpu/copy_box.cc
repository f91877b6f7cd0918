#include "softgpu/copy_box.h"

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/graph/capture.h"
#include "softgpu/graph/node_params.h"

namespace sluice::softgpu {
namespace {

bool ends_within(size_t start, size_t count, size_t limit) {
  size_t end;
  return !__builtin_add_overflow(start, count, &end) && end <= limit;
}

bool is_empty(const CopyShape& shape) { return shape.width == 0 || shape.height == 0 || shape.depth == 0; }

CUresult place_linear(const BoxEnd& end, const CopyShape& shape, CopyEnd* out) {
  size_t row_end, rows_end, skipped_rows, skipped_slices, offset;
  if (__builtin_add_overflow(end.x, shape.width, &row_end) ||
      __builtin_add_overflow(end.y, shape.height, &rows_end)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  out->pitch = end.pitch == 0 ? row_end : end.pitch;
  const size_t rows = end.height == 0 ? rows_end : end.height;
  // One row has no pitch to keep to, and one slice no height.
  const bool one_row = shape.height == 1 && shape.depth == 1;
  if (!one_row && row_end > out->pitch) return CUDA_ERROR_INVALID_VALUE;
  if (shape.depth > 1 && rows_end > rows) return CUDA_ERROR_INVALID_VALUE;
  if (__builtin_mul_overflow(out->pitch, rows, &out->slice) ||
      __builtin_mul_overflow(end.y, out->pitch, &skipped_rows) ||
      __builtin_mul_overflow(end.z, out->slice, &skipped_slices) ||
      __builtin_add_overflow(skipped_rows, skipped_slices, &offset) ||
      __builtin_add_overflow(offset, end.x, &offset) || out->address == 0 ||
      __builtin_add_overflow(out->address, offset, &out->address)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUDA_MEMCPY3D described(const BoxEnd& destination, const BoxEnd& source, const CopyShape& shape) {
  CUDA_MEMCPY3D what{};
  what.srcMemoryType = source.type;
  what.srcHost = source.host;
  what.srcDevice = source.device;
  what.srcArray = source.array;
  what.srcPitch = source.pitch;
  what.srcHeight = source.height;
  what.srcXInBytes = source.x;
  what.srcY = source.y;
  what.srcZ = source.z;
  what.dstMemoryType = destination.type;
  what.dstHost = const_cast<void*>(destination.host);
  what.dstDevice = destination.device;
  what.dstArray = destination.array;
  what.dstPitch = destination.pitch;
  what.dstHeight = destination.height;
  what.dstXInBytes = destination.x;
  what.dstY = destination.y;
  what.dstZ = destination.z;
  what.WidthInBytes = shape.width;
  what.Height = shape.height;
  what.Depth = shape.depth;
  return what;
}

}  // namespace

BoxEnd source_of(const CUDA_MEMCPY3D& what) {
  return {what.srcMemoryType, what.srcHost,     what.srcDevice, what.srcArray, what.srcPitch,
          what.srcHeight,     what.srcXInBytes, what.srcY,      what.srcZ};
}

BoxEnd destination_of(const CUDA_MEMCPY3D& what) {
  return {what.dstMemoryType, what.dstHost,     what.dstDevice, what.dstArray, what.dstPitch,
          what.dstHeight,     what.dstXInBytes, what.dstY,      what.dstZ};
}

CUresult place_in_array(const Array& array, size_t x, size_t y, size_t z, const CopyShape& shape,
                        CopyEnd* out) {
  const ArrayExtent& extent = array.extent;
  if (!array.has_elements() || x % array.element.bytes != 0 || shape.width % array.element.bytes != 0 ||
      !ends_within(x, shape.width, extent.row_bytes) || !ends_within(y, shape.height, extent.rows) ||
      !ends_within(z, shape.depth, extent.slices)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  out->side = Side::kDevice;
  out->pitch = array.pitch();
  out->slice = array.slice();
  out->address = array.address + z * out->slice + y * out->pitch + x;
  return CUDA_SUCCESS;
}

CUresult place_end(const BoxEnd& end, const CopyShape& shape, CopyEnd* out) {
  switch (end.type) {
    case CU_MEMORYTYPE_HOST:
      out->address = reinterpret_cast<uint64_t>(end.host);
      out->side = Side::kHost;
      return place_linear(end, shape, out);
    case CU_MEMORYTYPE_DEVICE:
      out->address = end.device;
      out->side = Side::kDevice;
      return place_linear(end, shape, out);
    case CU_MEMORYTYPE_UNIFIED:
      out->address = end.device;
      out->side = Side::kUnified;
      return place_linear(end, shape, out);
    case CU_MEMORYTYPE_ARRAY: {
      const auto* array = lookup<Array>(end.array);
      if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      return place_in_array(*array, end.x, end.y, end.z, shape, out);
    }
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult copy_context(CUstream stream, Context** out) {
  if (const auto* own = lookup<Stream>(stream); own != nullptr) {
    *out = own->context.get();
    return CUDA_SUCCESS;
  }
  return current_context(out);
}

CUresult copy_box(const BoxEnd& destination, const BoxEnd& source, const CopyShape& shape, CUstream stream,
                  CopyMode mode) {
  Context* context;
  SLUICE_TRY(copy_context(stream, &context));
  if (is_empty(shape)) return CUDA_SUCCESS;
  if (mode != CopyMode::kSynchronous && may_be_capturing()) {
    // As a node it keeps the arrays and offsets that it was given.
    std::shared_ptr<Stream> queue;
    SLUICE_TRY(context->resolve_stream(stream, &queue));
    CUresult result = CUDA_SUCCESS;
    const auto as_node = [&](Work* work) {
      return make_copy_work(described(destination, source, shape), context->handle(), work);
    };
    if (captured(*queue, as_node, &result)) return result;
  }
  CopyEnd to, from;
  SLUICE_TRY(place_end(destination, shape, &to));
  SLUICE_TRY(place_end(source, shape, &from));
  return copy(*context, to, from, shape, stream, mode);
}

}  // namespace sluice::softgpu
