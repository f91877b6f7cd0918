// Batches of copies, and single copies with a batch's attributes. Each copy of a batch is sent like any
// other: none of them waits for an answer.
#include <cstdint>

#include "client/box_copy.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {
namespace {

constexpr size_t kNoIndex = SIZE_MAX;  // what failed was no copy in particular

CUresult mode_of(CUmemcpySrcAccessOrder order, unsigned flags, BoxMode* out) {
  if (order < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM || order > CU_MEMCPY_SRC_ACCESS_ORDER_ANY ||
      (flags & ~static_cast<unsigned>(CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = order == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ? BoxMode::stream_ordered : BoxMode::asynchronous;
  return CUDA_SUCCESS;
}

// Batches are for streams that the program has made, and for per-thread default streams.
CUresult check_stream(CUstream stream) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  return stream == nullptr || stream == CU_STREAM_LEGACY ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult copy_pointers(CUdeviceptr dst, CUdeviceptr src, size_t bytes, const CUmemcpyAttributes& attributes,
                       CUstream stream) {
  BoxMode mode{};
  if (CUresult error = mode_of(attributes.srcAccessOrder, attributes.flags, &mode)) return error;
  BoxEndGiven to;
  to.type = CU_MEMORYTYPE_UNIFIED;
  to.device = dst;
  BoxEndGiven from = to;
  from.device = src;
  return copy_box(to, from, {bytes, 1, 1}, stream, mode);
}

bool attributes_match(const size_t* first, size_t attribute_count, size_t count) {
  if (attribute_count == 0 || attribute_count > count || first[0] != 0) return false;
  for (size_t i = 1; i < attribute_count; i++) {
    if (first[i] <= first[i - 1] || first[i] >= count) return false;
  }
  return true;
}

// Bytes of one element of the copy: an array's, or 1 between pointers. INVALID_VALUE when two arrays differ.
CUresult element_bytes(const Scope& scope, const CUDA_MEMCPY3D_BATCH_OP& op, size_t* out) {
  *out = 0;
  for (const CUmemcpy3DOperand* operand : {&op.src, &op.dst}) {
    if (operand->type == CU_MEMCPY_OPERAND_TYPE_POINTER) continue;
    if (operand->type != CU_MEMCPY_OPERAND_TYPE_ARRAY) return CUDA_ERROR_INVALID_VALUE;
    const Array* array = scope.session->arrays.find(operand->op.array.array);
    if (array == nullptr || !array->alive()) return CUDA_ERROR_INVALID_HANDLE;
    const uint32_t bytes = array->element.bytes;
    if (bytes == 0 || (*out != 0 && *out != bytes)) return CUDA_ERROR_INVALID_VALUE;
    *out = bytes;
  }
  if (*out == 0) *out = 1;
  return CUDA_SUCCESS;
}

// Lengths in the operand count elements.
CUresult end_of(const CUmemcpy3DOperand& operand, const CUextent3D& extent, size_t element,
                BoxEndGiven* out) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    const auto& place = operand.op.array;
    out->type = CU_MEMORYTYPE_ARRAY;
    out->array = place.array;
    out->y = place.offset.y;
    out->z = place.offset.z;
    return __builtin_mul_overflow(place.offset.x, element, &out->x) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  }
  const auto& place = operand.op.ptr;
  if ((place.rowLength != 0 && place.rowLength < extent.width) ||
      (place.layerHeight != 0 && place.layerHeight < extent.height)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  out->type = CU_MEMORYTYPE_UNIFIED;
  out->device = place.ptr;
  out->height = place.layerHeight;
  return __builtin_mul_overflow(place.rowLength, element, &out->pitch) ? CUDA_ERROR_INVALID_VALUE
                                                                       : CUDA_SUCCESS;
}

CUresult copy_operands(const CUDA_MEMCPY3D_BATCH_OP& op, CUstream stream) {
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  BoxMode mode{};
  if (CUresult error = mode_of(op.srcAccessOrder, op.flags, &mode)) return error;
  BoxExtent extent{0, op.extent.height, op.extent.depth};
  if (op.extent.width == 0 || extent.height == 0 || extent.depth == 0) return CUDA_ERROR_INVALID_VALUE;
  size_t element = 0;
  if (CUresult error = element_bytes(scope, op, &element)) return error;
  BoxEndGiven to;
  BoxEndGiven from;
  if (CUresult error = end_of(op.dst, op.extent, element, &to)) return error;
  if (CUresult error = end_of(op.src, op.extent, element, &from)) return error;
  if (__builtin_mul_overflow(op.extent.width, element, &extent.width)) return CUDA_ERROR_INVALID_VALUE;
  return copy_box(to, from, extent, stream, mode);
}

}  // namespace

CUresult cuMemcpyBatchAsync(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                            CUmemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs, size_t* failIdx,
                            CUstream hStream) {
  if (failIdx != nullptr) *failIdx = kNoIndex;
  if (dsts == nullptr || srcs == nullptr || sizes == nullptr || count == 0 || attrs == nullptr ||
      attrsIdxs == nullptr || !attributes_match(attrsIdxs, numAttrs, count)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (CUresult error = check_stream(hStream)) return error;
  size_t attribute = 0;
  for (size_t i = 0; i < count; i++) {
    if (attribute + 1 < numAttrs && i == attrsIdxs[attribute + 1]) attribute++;
    if (CUresult error = copy_pointers(dsts[i], srcs[i], sizes[i], attrs[attribute], hStream)) {
      if (failIdx != nullptr) *failIdx = i;
      return error;
    }
  }
  return CUDA_SUCCESS;
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                               CUmemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs,
                               CUstream hStream) {
  return cuMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, nullptr, hStream);
}

CUresult cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP* opList, size_t* failIdx,
                              unsigned long long flags, CUstream hStream) {
  if (failIdx != nullptr) *failIdx = kNoIndex;
  if (numOps == 0 || opList == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = check_stream(hStream)) return error;
  for (size_t i = 0; i < numOps; i++) {
    if (CUresult error = copy_operands(opList[i], hStream)) {
      if (failIdx != nullptr) *failIdx = i;
      return error;
    }
  }
  return CUDA_SUCCESS;
}

CUresult cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP* opList, unsigned long long flags,
                                 CUstream hStream) {
  return cuMemcpy3DBatchAsync(numOps, opList, nullptr, flags, hStream);
}

CUresult cuMemcpyWithAttributesAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUmemcpyAttributes* attr,
                                     CUstream hStream) {
  return attr == nullptr ? CUDA_ERROR_INVALID_VALUE : copy_pointers(dst, src, size, *attr, hStream);
}

CUresult cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP* op, unsigned long long flags,
                                       CUstream hStream) {
  return op == nullptr || flags != 0 ? CUDA_ERROR_INVALID_VALUE : copy_operands(*op, hStream);
}

}  // namespace sluice::client::calls
