// Copies of two and three dimensions between linear memories.
#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/copy.h"

namespace sluice::softgpu {
namespace {

// One end of a copy as both structures describe it. Arrays do not exist on this device yet.
CUresult make_end(CUmemorytype type, const void* host, CUdeviceptr device, size_t pitch, size_t height,
                  size_t x, size_t y, size_t z, const CopyShape& shape, CopyEnd* out) {
  switch (type) {
    case CU_MEMORYTYPE_HOST:
      out->address = reinterpret_cast<uint64_t>(host);
      out->side = Side::kHost;
      break;
    case CU_MEMORYTYPE_DEVICE:
      out->address = device;
      out->side = Side::kDevice;
      break;
    case CU_MEMORYTYPE_UNIFIED:
      out->address = device;
      out->side = Side::kUnified;
      break;
    case CU_MEMORYTYPE_ARRAY:
      return CUDA_ERROR_INVALID_HANDLE;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  // A pitch of zero stands for rows without gaps, as long as there is one row.
  out->pitch = pitch == 0 ? x + shape.width : pitch;
  const size_t rows = height == 0 ? y + shape.height : height;
  size_t row_end;
  if (__builtin_add_overflow(x, shape.width, &row_end) ||
      __builtin_mul_overflow(out->pitch, rows, &out->slice)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (shape.height * shape.depth > 1 && row_end > out->pitch) return CUDA_ERROR_INVALID_VALUE;
  if (shape.depth > 1 && y + shape.height > rows) return CUDA_ERROR_INVALID_VALUE;
  size_t skipped_rows, skipped_planes;
  if (__builtin_mul_overflow(y, out->pitch, &skipped_rows) ||
      __builtin_mul_overflow(z, out->slice, &skipped_planes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (out->address == 0) return CUDA_ERROR_INVALID_VALUE;
  out->address += x + skipped_rows + skipped_planes;
  return CUDA_SUCCESS;
}

CUresult find_context(CUstream stream, Context** out) {
  if (const auto* own = lookup<Stream>(stream); own != nullptr) {
    *out = own->context.get();
    return CUDA_SUCCESS;
  }
  return current_context(out);
}

CUresult copy_2d(const CUDA_MEMCPY2D* what, CUstream stream, CopyMode mode) {
  if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  SLUICE_TRY(find_context(stream, &context));
  const CopyShape shape{what->WidthInBytes, what->Height, 1};
  if (shape.width == 0 || shape.height == 0) return CUDA_SUCCESS;
  CopyEnd to, from;
  SLUICE_TRY(make_end(what->dstMemoryType, what->dstHost, what->dstDevice, what->dstPitch, 0,
                      what->dstXInBytes, what->dstY, 0, shape, &to));
  SLUICE_TRY(make_end(what->srcMemoryType, what->srcHost, what->srcDevice, what->srcPitch, 0,
                      what->srcXInBytes, what->srcY, 0, shape, &from));
  return copy(*context, to, from, shape, stream, mode);
}

CUresult copy_3d(const CUDA_MEMCPY3D* what, CUstream stream, CopyMode mode) {
  if (what == nullptr || what->srcLOD != 0 || what->dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  SLUICE_TRY(find_context(stream, &context));
  const CopyShape shape{what->WidthInBytes, what->Height, what->Depth};
  if (shape.width == 0 || shape.height == 0 || shape.depth == 0) return CUDA_SUCCESS;
  CopyEnd to, from;
  SLUICE_TRY(make_end(what->dstMemoryType, what->dstHost, what->dstDevice, what->dstPitch, what->dstHeight,
                      what->dstXInBytes, what->dstY, what->dstZ, shape, &to));
  SLUICE_TRY(make_end(what->srcMemoryType, what->srcHost, what->srcDevice, what->srcPitch, what->srcHeight,
                      what->srcXInBytes, what->srcY, what->srcZ, shape, &from));
  return copy(*context, to, from, shape, stream, mode);
}

constexpr CopyMode kSync = CopyMode::kSynchronous;
constexpr CopyMode kAsync = CopyMode::kAsynchronous;

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API_PAIR(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D* what),
                return copy_2d(what, pick(nullptr), kSync);)
SLUICE_API_PAIR(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D* what),
                return copy_2d(what, pick(nullptr), kSync);)
SLUICE_API_PAIR(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D* what),
                return copy_3d(what, pick(nullptr), kSync);)
SLUICE_API_PAIR(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D* what, CUstream stream),
                return copy_2d(what, pick(stream), kAsync);)
SLUICE_API_PAIR(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D* what, CUstream stream),
                return copy_3d(what, pick(stream), kAsync);)

namespace sluice::softgpu {

std::span<const Entry> copy_2d_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY_PAIR("cuMemcpy2D", 3020, cuMemcpy2D_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemcpy2DUnaligned", 3020, cuMemcpy2DUnaligned_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemcpy3D", 3020, cuMemcpy3D_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemcpy2DAsync", 3020, cuMemcpy2DAsync_v2, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemcpy3DAsync", 3020, cuMemcpy3DAsync_v2, _ptsz),
  };
  return entries;
}

}  // namespace sluice::softgpu
