// Copies of two dimensions. Rows of host memory travel packed.
#include <algorithm>
#include <cstring>
#include <vector>

#include "client/captures.h"
#include "client/scope.h"
#include "client/task_order.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

// As in the worker's calls/copy_2d.cc.
enum class Direction : uint8_t { within_device = 0, to_device = 1, to_host = 2 };

struct Side {
  bool device = false;
  uint64_t address = 0;  // of the first byte
  uint64_t pitch = 0;
};

// Finds where one side lies; unified addresses are looked up.
CUresult side_of(const Scope& scope, CUmemorytype type, const void* host, CUdeviceptr device, size_t x,
                 size_t y, size_t pitch, size_t width, Side* side) {
  if (type == CU_MEMORYTYPE_ARRAY) return CUDA_ERROR_NOT_SUPPORTED;
  if (type < CU_MEMORYTYPE_HOST || type > CU_MEMORYTYPE_UNIFIED) return CUDA_ERROR_INVALID_VALUE;
  side->device = type == CU_MEMORYTYPE_DEVICE ||
                 (type == CU_MEMORYTYPE_UNIFIED && scope.session->memory.device_range(device));
  side->address = type == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(host) : device;
  side->pitch = pitch == 0 ? width + x : pitch;
  if (side->address == 0 || side->pitch < width + x) return CUDA_ERROR_INVALID_VALUE;
  side->address += y * side->pitch + x;
  return CUDA_SUCCESS;
}

void put_arguments(wire::Writer& arguments, Direction direction, const Side& dst, const Side& src,
                   uint64_t width, uint64_t height, uint32_t stream) {
  arguments.put(static_cast<uint8_t>(direction));
  arguments.put(dst.address);
  arguments.put(dst.pitch);
  arguments.put(src.address);
  arguments.put(src.pitch);
  arguments.put(width);
  arguments.put(height);
  arguments.put(stream);
}

CUresult copy_rows(Scope& scope, Stream* stream, Side dst, Side src, size_t width, size_t height) {
  const uint32_t stream_index = stream ? stream->index : 0;
  if (src.device && dst.device) {
    wire::DynamicFrame frame(CallId::cuMemcpy2DAsync_v2);
    put_arguments(frame.arguments(), Direction::within_device, dst, src, width, height, stream_index);
    frame.complete();
    return scope.post(frame);
  }
  const size_t most_rows = std::max<size_t>(1, (size_t{64} << 20) / width);
  std::vector<uint8_t> packed(std::min(most_rows, height) * width);
  while (height > 0) {
    const size_t rows = std::min(most_rows, height);
    const size_t bytes = rows * width;
    wire::DynamicFrame frame(CallId::cuMemcpy2DAsync_v2, dst.device ? wire::kBulk : wire::kSync);
    put_arguments(frame.arguments(), dst.device ? Direction::to_device : Direction::to_host, dst, src, width,
                  rows, stream_index);
    frame.complete(dst.device ? bytes : 0);
    if (dst.device) {
      for (size_t row = 0; row < rows; row++) {
        std::memcpy(packed.data() + row * width, reinterpret_cast<const void*>(src.address + row * src.pitch),
                    width);
      }
      if (CUresult error =
              scope.channel->post(scope.context_index(), frame.data(), frame.size(), packed.data(), bytes)) {
        return error;
      }
    } else {
      Reply reply{packed.data(), bytes};
      if (CUresult error = scope.call_raw(frame.data(), frame.size(), &reply)) return error;
      if (reply.received != bytes) return CUDA_ERROR_UNKNOWN;
      for (size_t row = 0; row < rows; row++) {
        std::memcpy(reinterpret_cast<void*>(dst.address + row * dst.pitch), packed.data() + row * width,
                    width);
      }
    }
    dst.address += rows * dst.pitch;
    src.address += rows * src.pitch;
    height -= rows;
  }
  return CUDA_SUCCESS;
}

CUresult capture_rows(Scope& scope, Stream* stream, const CUDA_MEMCPY2D& c) {
  CUDA_MEMCPY3D copy{};
  copy.srcXInBytes = c.srcXInBytes;
  copy.srcY = c.srcY;
  copy.srcMemoryType = c.srcMemoryType;
  copy.srcHost = c.srcHost;
  copy.srcDevice = c.srcDevice;
  copy.srcPitch = c.srcPitch;
  copy.dstXInBytes = c.dstXInBytes;
  copy.dstY = c.dstY;
  copy.dstMemoryType = c.dstMemoryType;
  copy.dstHost = c.dstHost;
  copy.dstDevice = c.dstDevice;
  copy.dstPitch = c.dstPitch;
  copy.WidthInBytes = c.WidthInBytes;
  copy.Height = c.Height;
  copy.Depth = 1;
  return capture_copy(scope, stream, copy);
}

CUresult copy(const CUDA_MEMCPY2D* given, CUstream handle) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  Stream* stream = nullptr;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.find(handle, &stream)) return error;
  if (CUresult error = scope.need_context()) return error;
  const CUDA_MEMCPY2D& c = *given;
  Side src;
  Side dst;
  if (c.WidthInBytes == 0 || c.Height == 0) return CUDA_SUCCESS;
  if (c.WidthInBytes > wire::kMaxBulk) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = side_of(scope, c.srcMemoryType, c.srcHost, c.srcDevice, c.srcXInBytes, c.srcY,
                               c.srcPitch, c.WidthInBytes, &src)) {
    return error;
  }
  if (CUresult error = side_of(scope, c.dstMemoryType, c.dstHost, c.dstDevice, c.dstXInBytes, c.dstY,
                               c.dstPitch, c.WidthInBytes, &dst)) {
    return error;
  }
  if (scope.capture != 0 && !(src.device && dst.device)) return capture_rows(scope, stream, c);
  const bool rows_touch = src.pitch == c.WidthInBytes && dst.pitch == c.WidthInBytes;
  if (src.device != dst.device && rows_touch) {
    return cuMemcpyAsync(dst.address, src.address, c.WidthInBytes * c.Height, handle);
  }
  // Work before the copy may still write the rows that are read here.
  const bool pending =
      !src.device &&
      (scope.session->tasks.pending_up_to(last_task(*scope.context, stream)) ||
       scope.session->tasks.downloads_into(reinterpret_cast<void*>(src.address), src.pitch * c.Height));
  if (pending || (!src.device && !dst.device)) {
    if (CUresult error = cuStreamSynchronize(handle)) return error;
  }
  if (!src.device && !dst.device) {
    for (size_t row = 0; row < c.Height; row++) {
      std::memcpy(reinterpret_cast<void*>(dst.address + row * dst.pitch),
                  reinterpret_cast<const void*>(src.address + row * src.pitch), c.WidthInBytes);
    }
    return CUDA_SUCCESS;
  }
  return copy_rows(scope, stream, dst, src, c.WidthInBytes, c.Height);
}

}  // namespace

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* pCopy, CUstream hStream) { return copy(pCopy, hStream); }

// Copies to host memory have waited for their answer; those to page-locked memory in one piece have not.
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* pCopy, CUstream stream) {
  if (CUresult error = copy(pCopy, stream)) return error;
  const bool to_host =
      pCopy->dstMemoryType == CU_MEMORYTYPE_HOST || pCopy->dstMemoryType == CU_MEMORYTYPE_UNIFIED;
  return to_host ? cuStreamSynchronize(stream) : CUDA_SUCCESS;
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* pCopy, CUstream stream) {
  return cuMemcpy2D_v2(pCopy, stream);
}

}  // namespace sluice::client::calls
