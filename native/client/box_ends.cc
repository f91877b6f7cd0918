#include "client/box_ends.h"

namespace sluice::client {
namespace {

bool ends_within(size_t start, size_t count, size_t limit) {
  size_t end = 0;
  return !__builtin_add_overflow(start, count, &end) && end <= limit;
}

CUresult place_in_array(const Scope& scope, const BoxEndGiven& given, const BoxExtent& extent, BoxEnd* out) {
  Array* array = scope.session->arrays.find(given.array);
  if (array == nullptr || !array->alive()) return CUDA_ERROR_INVALID_HANDLE;
  const uint32_t element = array->element.bytes;
  if (element == 0 || given.x % element != 0 || extent.width % element != 0 ||
      !ends_within(given.x, extent.width, array->extent.row_bytes) ||
      !ends_within(given.y, extent.height, array->extent.rows) ||
      !ends_within(given.z, extent.depth, array->extent.slices)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  out->where = wire::BoxEnd::array;
  out->array = array;
  out->x = given.x;
  out->y = given.y;
  out->z = given.z;
  out->owner = array->context;
  return CUDA_SUCCESS;
}

// Bytes from the first to the last one that the copy touches; false when that does not fit.
bool count_span(const BoxEnd& end, const BoxExtent& extent, size_t* bytes) {
  size_t slice = 0, rows = 0, slices = 0;
  return !__builtin_mul_overflow(end.pitch, end.rows, &slice) &&
         !__builtin_mul_overflow(end.pitch, extent.height - 1, &rows) &&
         !__builtin_mul_overflow(slice, extent.depth - 1, &slices) &&
         !__builtin_add_overflow(rows, slices, bytes) && !__builtin_add_overflow(*bytes, extent.width, bytes);
}

CUresult place_linear(const Scope& scope, const BoxEndGiven& given, const BoxExtent& extent, BoxEnd* out) {
  const bool on_host = given.type == CU_MEMORYTYPE_HOST;
  out->address = on_host ? reinterpret_cast<uint64_t>(given.host) : given.device;
  size_t row_end = 0, rows_end = 0, offset = 0, skipped = 0, slice = 0, span = 0;
  if (__builtin_add_overflow(given.x, extent.width, &row_end) ||
      __builtin_add_overflow(given.y, extent.height, &rows_end) || out->address == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  out->pitch = given.pitch == 0 ? row_end : given.pitch;
  out->rows = given.height == 0 ? rows_end : given.height;
  // One row has no pitch to keep to, and one slice no height.
  const bool one_row = extent.height == 1 && extent.depth == 1;
  if (!one_row && row_end > out->pitch) return CUDA_ERROR_INVALID_VALUE;
  if (extent.depth > 1 && rows_end > out->rows) return CUDA_ERROR_INVALID_VALUE;
  if (__builtin_mul_overflow(out->pitch, out->rows, &slice) ||
      __builtin_mul_overflow(given.y, out->pitch, &offset) ||
      __builtin_mul_overflow(given.z, slice, &skipped) || __builtin_add_overflow(offset, skipped, &offset) ||
      __builtin_add_overflow(offset, given.x, &offset) ||
      __builtin_add_overflow(out->address, offset, &out->address) || !count_span(*out, extent, &span)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto range = on_host ? std::nullopt : scope.session->memory.device_range(out->address);
  if (!range) {
    if (given.type == CU_MEMORYTYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    out->where = wire::BoxEnd::host;
    return CUDA_SUCCESS;
  }
  out->where = wire::BoxEnd::linear;
  out->owner = range->context;
  return span <= range->bytes - (out->address - range->base) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult place_end(const Scope& scope, const BoxEndGiven& given, const BoxExtent& extent, BoxEnd* out) {
  if (given.context != nullptr) {
    const Context* peer = scope.session->contexts.find(given.context);
    if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    out->peer = peer->index;
  }
  switch (given.type) {
    case CU_MEMORYTYPE_ARRAY:
      return place_in_array(scope, given, extent, out);
    case CU_MEMORYTYPE_HOST:
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
      return place_linear(scope, given, extent, out);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

BoxEnd moved(const BoxEnd& end, const BoxPiece& piece) {
  BoxEnd out = end;
  if (end.where == wire::BoxEnd::array) {
    out.x += piece.x;
    out.y += piece.y;
    out.z += piece.z;
  } else {
    out.address += (piece.z * end.rows + piece.y) * end.pitch + piece.x;
  }
  return out;
}

void put_end(wire::Writer& arguments, const BoxEnd& end, const BoxPiece& piece) {
  const BoxEnd at = moved(end, piece);
  arguments.put(static_cast<uint8_t>(at.where));
  switch (at.where) {
    case wire::BoxEnd::host:
      return;
    case wire::BoxEnd::linear:
      arguments.put(at.peer);
      for (const uint64_t word : {uint64_t{at.address}, uint64_t{at.pitch}, uint64_t{at.rows}})
        arguments.put(word);
      return;
    case wire::BoxEnd::array:
      arguments.put(at.peer);
      arguments.put(at.array->index);
      for (const uint64_t word : {uint64_t{at.x}, uint64_t{at.y}, uint64_t{at.z}}) arguments.put(word);
      return;
  }
}

HostShape host_shape(const BoxEnd& end, const BoxExtent& extent) {
  return {extent, end.pitch, end.pitch * end.rows};
}

bool is_pinned(const Session& session, const void* start, size_t bytes) {
  const auto range = session.memory.host_range(start);
  return range && bytes <= range->bytes - (reinterpret_cast<uintptr_t>(start) - range->base);
}

}  // namespace sluice::client
