// Batches of copies, and single copies with a batch's attributes. The copies of a batch run in the order in
// which they are given, which is one of those that are allowed.
#include <cstdint>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/copy_box.h"

namespace sluice::softgpu {
namespace {

constexpr size_t kNoIndex = SIZE_MAX;  // what failed was no copy in particular

CUresult mode_of(CUmemcpySrcAccessOrder order, unsigned flags, CopyMode* out) {
  if (order < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM || order > CU_MEMCPY_SRC_ACCESS_ORDER_ANY ||
      (flags & ~static_cast<unsigned>(CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = order == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ? CopyMode::kStreamOrdered : CopyMode::kAsynchronous;
  return CUDA_SUCCESS;
}

// Batches are for streams that the program has made, and for per-thread default streams.
CUresult batch_context(CUstream stream, Context** out) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY) return CUDA_ERROR_INVALID_VALUE;
  return copy_context(stream, out);
}

CUresult copy_pointers(Context& context, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                       const CUmemcpyAttributes& attributes, CUstream stream) {
  CopyMode mode;
  SLUICE_TRY(mode_of(attributes.srcAccessOrder, attributes.flags, &mode));
  return copy(context, {to, Side::kUnified, bytes, bytes}, {from, Side::kUnified, bytes, bytes},
              {bytes, 1, 1}, stream, mode);
}

bool attributes_match(const size_t* first, size_t attribute_count, size_t count) {
  if (attribute_count == 0 || attribute_count > count || first[0] != 0) return false;
  for (size_t i = 1; i < attribute_count; ++i) {
    if (first[i] <= first[i - 1] || first[i] >= count) return false;
  }
  return true;
}

CUresult copy_batch(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                    CUmemcpyAttributes* attributes, size_t* first, size_t attribute_count, size_t* failed,
                    CUstream stream) {
  if (failed != nullptr) *failed = kNoIndex;
  if (to == nullptr || from == nullptr || sizes == nullptr || count == 0 || attributes == nullptr ||
      first == nullptr || !attributes_match(first, attribute_count, count)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Context* context;
  SLUICE_TRY(batch_context(stream, &context));
  size_t attribute = 0;
  for (size_t i = 0; i < count; ++i) {
    if (attribute + 1 < attribute_count && i == first[attribute + 1]) ++attribute;
    const CUresult result = copy_pointers(*context, to[i], from[i], sizes[i], attributes[attribute], stream);
    if (result == CUDA_SUCCESS) continue;
    if (failed != nullptr) *failed = i;
    return result;
  }
  return CUDA_SUCCESS;
}

// Bytes of one element of the copy: an array's, or 1 between pointers. INVALID_VALUE when two arrays differ.
CUresult element_bytes(const CUDA_MEMCPY3D_BATCH_OP& op, size_t* out) {
  *out = 0;
  for (const CUmemcpy3DOperand* operand : {&op.src, &op.dst}) {
    if (operand->type == CU_MEMCPY_OPERAND_TYPE_POINTER) continue;
    if (operand->type != CU_MEMCPY_OPERAND_TYPE_ARRAY) return CUDA_ERROR_INVALID_VALUE;
    const auto* array = lookup<Array>(operand->op.array.array);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (!array->has_elements() || (*out != 0 && *out != array->element.bytes))
      return CUDA_ERROR_INVALID_VALUE;
    *out = array->element.bytes;
  }
  if (*out == 0) *out = 1;
  return CUDA_SUCCESS;
}

// Lengths in the operand count elements.
CUresult end_of(const CUmemcpy3DOperand& operand, const CUextent3D& extent, size_t element, BoxEnd* out) {
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
  CopyMode mode;
  SLUICE_TRY(mode_of(op.srcAccessOrder, op.flags, &mode));
  if (op.extent.width == 0 || op.extent.height == 0 || op.extent.depth == 0) return CUDA_ERROR_INVALID_VALUE;
  size_t element;
  SLUICE_TRY(element_bytes(op, &element));
  BoxEnd to, from;
  SLUICE_TRY(end_of(op.dst, op.extent, element, &to));
  SLUICE_TRY(end_of(op.src, op.extent, element, &from));
  CopyShape shape{0, op.extent.height, op.extent.depth};
  if (__builtin_mul_overflow(op.extent.width, element, &shape.width)) return CUDA_ERROR_INVALID_VALUE;
  return copy_box(to, from, shape, stream, mode);
}

CUresult copy_3d_batch(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, size_t* failed,
                       unsigned long long flags, CUstream stream) {
  if (failed != nullptr) *failed = kNoIndex;
  if (count == 0 || operations == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  SLUICE_TRY(batch_context(stream, &context));
  for (size_t i = 0; i < count; ++i) {
    const CUresult result = copy_operands(operations[i], stream);
    if (result == CUDA_SUCCESS) continue;
    if (failed != nullptr) *failed = i;
    return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API_PAIR(cuMemcpyBatchAsync, _ptsz,
                (CUdeviceptr * to, CUdeviceptr* from, size_t* sizes, size_t count, CUmemcpyAttributes* attrs,
                 size_t* first, size_t attr_count, size_t* failed, CUstream stream),
                return copy_batch(to, from, sizes, count, attrs, first, attr_count, failed, pick(stream));)
SLUICE_API_PAIR(cuMemcpyBatchAsync_v2, _ptsz,
                (CUdeviceptr * to, CUdeviceptr* from, size_t* sizes, size_t count, CUmemcpyAttributes* attrs,
                 size_t* first, size_t attr_count, CUstream stream),
                return copy_batch(to, from, sizes, count, attrs, first, attr_count, nullptr, pick(stream));)
SLUICE_API_PAIR(cuMemcpy3DBatchAsync, _ptsz,
                (size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, size_t* failed, unsigned long long flags,
                 CUstream stream),
                return copy_3d_batch(count, operations, failed, flags, pick(stream));)
SLUICE_API_PAIR(cuMemcpy3DBatchAsync_v2, _ptsz,
                (size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, unsigned long long flags, CUstream stream),
                return copy_3d_batch(count, operations, nullptr, flags, pick(stream));)
SLUICE_API_PAIR(cuMemcpyWithAttributesAsync, _ptsz,
                (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUmemcpyAttributes* attributes,
                 CUstream stream),
                if (attributes == nullptr) return CUDA_ERROR_INVALID_VALUE;
                Context * context; SLUICE_TRY(copy_context(pick(stream), &context));
                return copy_pointers(*context, to, from, bytes, *attributes, pick(stream));)
SLUICE_API_PAIR(cuMemcpy3DWithAttributesAsync, _ptsz,
                (CUDA_MEMCPY3D_BATCH_OP * operation, unsigned long long flags, CUstream stream),
                if (operation == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
                return copy_operands(*operation, pick(stream));)

namespace sluice::softgpu {

std::span<const Entry> copy_batch_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY_PAIR("cuMemcpyBatchAsync", 12080, cuMemcpyBatchAsync, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemcpyBatchAsync", 13000, cuMemcpyBatchAsync_v2, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemcpy3DBatchAsync", 12080, cuMemcpy3DBatchAsync, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemcpy3DBatchAsync", 13000, cuMemcpy3DBatchAsync_v2, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemcpyWithAttributesAsync", 13020, cuMemcpyWithAttributesAsync, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemcpy3DWithAttributesAsync", 13020, cuMemcpy3DWithAttributesAsync, _ptsz),
  };
  return entries;
}

}  // namespace sluice::softgpu
