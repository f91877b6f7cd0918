// Copies of two and three dimensions between host memory, device memory and arrays.
#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/copy_box.h"

namespace sluice::softgpu {
namespace {

// The structures differ in the width of their numbers and in whether they have a third dimension.
template <typename Given>
BoxEnd source_of(const Given& c) {
  BoxEnd end{c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray, c.srcPitch, 0, c.srcXInBytes, c.srcY, 0};
  if constexpr (requires { c.srcZ; }) {
    end.height = c.srcHeight;
    end.z = c.srcZ;
  }
  return end;
}
template <typename Given>
BoxEnd destination_of(const Given& c) {
  BoxEnd end{c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray, c.dstPitch, 0, c.dstXInBytes, c.dstY, 0};
  if constexpr (requires { c.dstZ; }) {
    end.height = c.dstHeight;
    end.z = c.dstZ;
  }
  return end;
}

template <typename Given>
CUresult copy(const Given* c, CUstream stream, CopyMode mode) {
  if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CopyShape shape{c->WidthInBytes, c->Height, 1};
  if constexpr (requires { c->Depth; }) {
    if (c->srcLOD != 0 || c->dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
    shape.depth = c->Depth;
  }
  if constexpr (requires { c->srcContext; }) {
    // The contexts only have to exist: addresses and arrays say where they belong.
    for (const CUcontext context : {c->srcContext, c->dstContext}) {
      if (context != nullptr && lookup<Context>(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    }
  }
  return copy_box(destination_of(*c), source_of(*c), shape, stream, mode);
}

constexpr CopyMode kSync = CopyMode::kSynchronous;
constexpr CopyMode kAsync = CopyMode::kAsynchronous;

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API_PAIR(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D* what), return copy(what, pick(nullptr), kSync);)
SLUICE_API_PAIR(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D* what),
                return copy(what, pick(nullptr), kSync);)
SLUICE_API_PAIR(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D* what), return copy(what, pick(nullptr), kSync);)
SLUICE_API_PAIR(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER* what),
                return copy(what, pick(nullptr), kSync);)
SLUICE_API_PAIR(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D* what, CUstream stream),
                return copy(what, pick(stream), kAsync);)
SLUICE_API_PAIR(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D* what, CUstream stream),
                return copy(what, pick(stream), kAsync);)
SLUICE_API_PAIR(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER* what, CUstream stream),
                return copy(what, pick(stream), kAsync);)

// The forms before CUDA 3.2, with numbers of 32 bits, which host memory and arrays can still be given in.
SLUICE_API cuMemcpy2D(const CUDA_MEMCPY2D_v1* what) {
  return api([&] { return copy(what, nullptr, kSync); });
}
SLUICE_API cuMemcpy2DUnaligned(const CUDA_MEMCPY2D_v1* what) {
  return api([&] { return copy(what, nullptr, kSync); });
}
SLUICE_API cuMemcpy3D(const CUDA_MEMCPY3D_v1* what) {
  return api([&] { return copy(what, nullptr, kSync); });
}
SLUICE_API cuMemcpy2DAsync(const CUDA_MEMCPY2D_v1* what, CUstream stream) {
  return api([&] { return copy(what, stream, kAsync); });
}
SLUICE_API cuMemcpy3DAsync(const CUDA_MEMCPY3D_v1* what, CUstream stream) {
  return api([&] { return copy(what, stream, kAsync); });
}

namespace sluice::softgpu {

std::span<const Entry> copy_2d_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuMemcpy2D", 2000, cuMemcpy2D),
      SLUICE_ENTRY("cuMemcpy2DUnaligned", 2000, cuMemcpy2DUnaligned),
      SLUICE_ENTRY("cuMemcpy3D", 2000, cuMemcpy3D),
      SLUICE_ENTRY("cuMemcpy2DAsync", 2000, cuMemcpy2DAsync),
      SLUICE_ENTRY("cuMemcpy3DAsync", 2000, cuMemcpy3DAsync),
      SLUICE_ENTRY_PAIR("cuMemcpy2D", 3020, cuMemcpy2D_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemcpy2DUnaligned", 3020, cuMemcpy2DUnaligned_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemcpy3D", 3020, cuMemcpy3D_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemcpy2DAsync", 3020, cuMemcpy2DAsync_v2, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemcpy3DAsync", 3020, cuMemcpy3DAsync_v2, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemcpy3DPeer", 4000, cuMemcpy3DPeer, _ptds),
      SLUICE_ENTRY_PAIR("cuMemcpy3DPeerAsync", 4000, cuMemcpy3DPeerAsync, _ptsz),
  };
  return entries;
}

}  // namespace sluice::softgpu
