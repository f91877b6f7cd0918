#include "softgpu/copy.h"

#include <cstring>
#include <vector>

#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/graph/capture.h"
#include "softgpu/graph/node_params.h"
#include "softgpu/memory.h"
#include "softgpu/stream.h"

namespace sluice::softgpu {
namespace {

constexpr size_t kBriefBytes = 64 * 1024;  // below this, a thread hand-over costs more than the copy

enum class Place { kPageable, kPinned, kDevice };

// Bytes from the first to the last byte that the copy touches at this end; false on overflow.
bool extent(const CopyEnd& end, const CopyShape& shape, size_t* out) {
  size_t rows, planes, total;
  if (__builtin_mul_overflow(end.pitch, shape.height - 1, &rows)) return false;
  if (__builtin_mul_overflow(end.slice, shape.depth - 1, &planes)) return false;
  if (__builtin_add_overflow(rows, planes, &total)) return false;
  return !__builtin_add_overflow(total, shape.width, out);
}

CUresult locate(const CopyEnd& end, size_t bytes, Place* place) {
  if (end.address == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto found = memory_registry().find(end.address);
  if (!found) {
    if (end.side == Side::kDevice) return CUDA_ERROR_INVALID_VALUE;
    *place = Place::kPageable;
    return CUDA_SUCCESS;
  }
  const bool inside = bytes <= found->end() - end.address;
  if (found->on_host()) {
    // A host range that only begins in pinned memory is an ordinary one.
    if (!inside && end.side == Side::kDevice) return CUDA_ERROR_INVALID_VALUE;
    *place = inside ? Place::kPinned : Place::kPageable;
    return CUDA_SUCCESS;
  }
  *place = Place::kDevice;
  if (found->kind != MemoryKind::kMapped) return inside ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  const auto span = memory_registry().span(end.address, [](const Allocation& a) { return a.access != 0; });
  return span.second != 0 && bytes <= span.second - end.address ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void copy_bytes(const CopyEnd& destination, const CopyEnd& source, CopyShape shape) {
  // Rows without a gap are one long row, planes without a gap one high plane.
  if (destination.pitch == shape.width && source.pitch == shape.width) {
    if (shape.depth == 1 ||
        (destination.slice == shape.width * shape.height && source.slice == shape.width * shape.height)) {
      shape.width *= shape.height * shape.depth;
      shape.height = shape.depth = 1;
    }
  }
  for (size_t z = 0; z < shape.depth; ++z) {
    for (size_t y = 0; y < shape.height; ++y) {
      std::memmove(
          reinterpret_cast<void*>(destination.address + z * destination.slice + y * destination.pitch),
          reinterpret_cast<const void*>(source.address + z * source.slice + y * source.pitch), shape.width);
    }
  }
}

class CopyOperation : public Operation {
 public:
  CopyOperation(const CopyEnd& destination, const CopyEnd& source, const CopyShape& shape)
      : destination_(destination), source_(source), shape_(shape) {}

  CUresult run(Stream&) override {
    copy_bytes(destination_, source_, shape_);
    return CUDA_SUCCESS;
  }
  bool is_brief() const override { return bytes() <= kBriefBytes; }
  size_t bytes() const { return shape_.width * shape_.height * shape_.depth; }

  // Takes the source's bytes now, so that the caller may change them.
  void stage() {
    staged_.resize(bytes());
    const CopyEnd packed{reinterpret_cast<uint64_t>(staged_.data()), Side::kHost, shape_.width,
                         shape_.width * shape_.height};
    copy_bytes(packed, source_, shape_);
    source_ = packed;
  }

 private:
  CopyEnd destination_;
  CopyEnd source_;
  CopyShape shape_;
  std::vector<char> staged_;
};

// The copy in the words of the API.
CUDA_MEMCPY3D describe_copy(const CopyEnd& destination, const CopyEnd& source, const CopyShape& shape) {
  CUDA_MEMCPY3D what{};
  const auto type = [](Side side) {
    return side == Side::kDevice ? CU_MEMORYTYPE_DEVICE
           : side == Side::kHost ? CU_MEMORYTYPE_HOST
                                 : CU_MEMORYTYPE_UNIFIED;
  };
  what.srcMemoryType = type(source.side);
  what.srcHost = reinterpret_cast<const void*>(source.address);
  what.srcDevice = source.address;
  what.srcPitch = source.pitch;
  what.srcHeight = source.pitch == 0 ? 0 : source.slice / source.pitch;
  what.dstMemoryType = type(destination.side);
  what.dstHost = reinterpret_cast<void*>(destination.address);
  what.dstDevice = destination.address;
  what.dstPitch = destination.pitch;
  what.dstHeight = destination.pitch == 0 ? 0 : destination.slice / destination.pitch;
  what.WidthInBytes = shape.width;
  what.Height = shape.height;
  what.Depth = shape.depth;
  return what;
}

}  // namespace

CUresult copy(Context& context, const CopyEnd& destination, const CopyEnd& source, const CopyShape& shape,
              CUstream stream_handle, CopyMode mode) {
  SLUICE_TRY(context.error());
  std::shared_ptr<Stream> stream;
  SLUICE_TRY(context.resolve_stream(stream_handle, &stream));
  if (shape.width == 0 || shape.height == 0 || shape.depth == 0) return CUDA_SUCCESS;
  size_t destination_bytes, source_bytes;
  if (!extent(destination, shape, &destination_bytes) || !extent(source, shape, &source_bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Place to, from;
  SLUICE_TRY(locate(destination, destination_bytes, &to));
  SLUICE_TRY(locate(source, source_bytes, &from));

  CUresult result = CUDA_SUCCESS;
  const auto as_node = [&](Work* work) {
    // A synchronous copy cannot be part of a graph.
    if (mode == CopyMode::kSynchronous) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return make_copy_work(describe_copy(destination, source, shape), context.handle(), work);
  };
  if (captured(*stream, as_node, &result)) return result;
  const bool on_device = to == Place::kDevice && from == Place::kDevice;
  const bool in_order = mode == CopyMode::kStreamOrdered;
  const bool waits = mode == CopyMode::kSynchronous ? !on_device : to == Place::kPageable && !in_order;
  if (!waits) {
    auto operation = std::make_unique<CopyOperation>(destination, source, shape);
    // Large pageable sources are read in place, once the stream has come to them.
    const bool pageable = from == Place::kPageable && !in_order;
    if (!pageable || operation->bytes() <= kBriefBytes) {
      if (pageable) operation->stage();
      context.submit(*stream, std::move(operation));
      return CUDA_SUCCESS;
    }
  }
  CopyOperation operation(destination, source, shape);
  return context.submit_and_wait(*stream, operation);
}

}  // namespace sluice::softgpu
