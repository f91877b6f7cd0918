// Copies of two and three dimensions: the structures of the API as one form. Those of CUDA before 3.2 have
// numbers of 32 bits; device memory has not lain below 4 GiB since, host memory and arrays can be given in
// them.
#include "client/box_copy.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {
namespace {

template <typename Given>
BoxEndGiven source_of(const Given& c) {
  BoxEndGiven end{c.srcMemoryType, c.srcHost, c.srcDevice,   c.srcArray, nullptr,
                  c.srcPitch,      0,         c.srcXInBytes, c.srcY,     0};
  if constexpr (requires { c.srcZ; }) {
    end.height = c.srcHeight;
    end.z = c.srcZ;
  }
  if constexpr (requires { c.srcContext; }) end.context = c.srcContext;
  return end;
}

template <typename Given>
BoxEndGiven destination_of(const Given& c) {
  BoxEndGiven end{c.dstMemoryType, c.dstHost, c.dstDevice,   c.dstArray, nullptr,
                  c.dstPitch,      0,         c.dstXInBytes, c.dstY,     0};
  if constexpr (requires { c.dstZ; }) {
    end.height = c.dstHeight;
    end.z = c.dstZ;
  }
  if constexpr (requires { c.dstContext; }) end.context = c.dstContext;
  return end;
}

template <typename Given>
CUresult copy(const Given* c, CUstream stream, BoxMode mode) {
  if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
  BoxExtent extent{c->WidthInBytes, c->Height, 1};
  if constexpr (requires { c->Depth; }) {
    if (c->srcLOD != 0 || c->dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
    extent.depth = c->Depth;
  }
  return copy_box(destination_of(*c), source_of(*c), extent, stream, mode);
}

constexpr BoxMode kSync = BoxMode::synchronous;
constexpr BoxMode kAsync = BoxMode::asynchronous;

}  // namespace

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* pCopy, CUstream stream) { return copy(pCopy, stream, kSync); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* pCopy, CUstream stream) {
  return copy(pCopy, stream, kSync);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* pCopy, CUstream stream) { return copy(pCopy, stream, kSync); }
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* pCopy, CUstream stream) {
  return copy(pCopy, stream, kSync);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* pCopy, CUstream hStream) {
  return copy(pCopy, hStream, kAsync);
}
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* pCopy, CUstream hStream) {
  return copy(pCopy, hStream, kAsync);
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* pCopy, CUstream hStream) {
  return copy(pCopy, hStream, kAsync);
}

CUresult cuMemcpy2D(const CUDA_MEMCPY2D_v1* pCopy) { return copy(pCopy, nullptr, kSync); }
CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D_v1* pCopy) { return copy(pCopy, nullptr, kSync); }
CUresult cuMemcpy3D(const CUDA_MEMCPY3D_v1* pCopy) { return copy(pCopy, nullptr, kSync); }
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D_v1* pCopy, CUstream hStream) {
  return copy(pCopy, hStream, kAsync);
}
CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D_v1* pCopy, CUstream hStream) {
  return copy(pCopy, hStream, kAsync);
}

}  // namespace sluice::client::calls
