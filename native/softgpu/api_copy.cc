// One-dimensional copies.
#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/copy.h"

namespace sluice::softgpu {
namespace {

CUresult copy_1d(uint64_t destination, Side to, uint64_t source, Side from, size_t bytes, CUstream stream,
                 CopyMode mode) {
  Context* context;
  // A stream brings its own context.
  if (const auto* own = lookup<Stream>(stream); own != nullptr) {
    context = own->context.get();
  } else {
    SLUICE_TRY(current_context(&context));
  }
  return copy(*context, {destination, to, bytes, bytes}, {source, from, bytes, bytes}, {bytes, 1, 1}, stream,
              mode);
}

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// The contexts only have to exist: addresses say where they belong.
CUresult copy_peer(uint64_t destination, CUcontext destination_context, uint64_t source,
                   CUcontext source_context, size_t bytes, CUstream stream, CopyMode mode) {
  for (const CUcontext context : {destination_context, source_context}) {
    if (context != nullptr && lookup<Context>(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  }
  return copy_1d(destination, Side::kUnified, source, Side::kUnified, bytes, stream, mode);
}

constexpr CopyMode kSync = CopyMode::kSynchronous;
constexpr CopyMode kAsync = CopyMode::kAsynchronous;
constexpr Side kDevice = Side::kDevice;
constexpr Side kHost = Side::kHost;
constexpr Side kUnified = Side::kUnified;

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API_PAIR(cuMemcpy, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t n),
                return copy_1d(to, kUnified, from, kUnified, n, pick(nullptr), kSync);)
SLUICE_API_PAIR(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr to, const void* from, size_t n),
                return copy_1d(to, kDevice, address(from), kHost, n, pick(nullptr), kSync);)
SLUICE_API_PAIR(cuMemcpyDtoH_v2, _ptds, (void* to, CUdeviceptr from, size_t n),
                return copy_1d(address(to), kHost, from, kDevice, n, pick(nullptr), kSync);)
SLUICE_API_PAIR(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t n),
                return copy_1d(to, kDevice, from, kDevice, n, pick(nullptr), kSync);)
SLUICE_API_PAIR(cuMemcpyPeer, _ptds,
                (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t n),
                return copy_peer(to, to_context, from, from_context, n, pick(nullptr), kSync);)
SLUICE_API_PAIR(cuMemcpyAsync, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream stream),
                return copy_1d(to, kUnified, from, kUnified, n, pick(stream), kAsync);)
SLUICE_API_PAIR(cuMemcpyHtoDAsync_v2, _ptsz, (CUdeviceptr to, const void* from, size_t n, CUstream stream),
                return copy_1d(to, kDevice, address(from), kHost, n, pick(stream), kAsync);)
SLUICE_API_PAIR(cuMemcpyDtoHAsync_v2, _ptsz, (void* to, CUdeviceptr from, size_t n, CUstream stream),
                return copy_1d(address(to), kHost, from, kDevice, n, pick(stream), kAsync);)
SLUICE_API_PAIR(cuMemcpyDtoDAsync_v2, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream stream),
                return copy_1d(to, kDevice, from, kDevice, n, pick(stream), kAsync);)
SLUICE_API_PAIR(cuMemcpyPeerAsync, _ptsz,
                (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t n,
                 CUstream stream),
                return copy_peer(to, to_context, from, from_context, n, pick(stream), kAsync);)

namespace sluice::softgpu {

std::span<const Entry> copy_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY_PAIR("cuMemcpy", 4000, cuMemcpy, _ptds),
      SLUICE_ENTRY_PAIR("cuMemcpyHtoD", 3020, cuMemcpyHtoD_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemcpyDtoH", 3020, cuMemcpyDtoH_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemcpyDtoD", 3020, cuMemcpyDtoD_v2, _ptds),
      SLUICE_ENTRY_PAIR("cuMemcpyPeer", 4000, cuMemcpyPeer, _ptds),
      SLUICE_ENTRY_PAIR("cuMemcpyAsync", 4000, cuMemcpyAsync, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemcpyHtoDAsync", 3020, cuMemcpyHtoDAsync_v2, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemcpyDtoHAsync", 3020, cuMemcpyDtoHAsync_v2, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemcpyDtoDAsync", 3020, cuMemcpyDtoDAsync_v2, _ptsz),
      SLUICE_ENTRY_PAIR("cuMemcpyPeerAsync", 4000, cuMemcpyPeerAsync, _ptsz),
  };
  return entries;
}

}  // namespace sluice::softgpu
