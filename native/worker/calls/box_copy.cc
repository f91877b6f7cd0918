// Copies of several dimensions, and of arrays: boxes of bytes whose host side travels packed.
#include <algorithm>
#include <memory>

#include "common/box_pieces.h"
#include "worker/calls/session.h"

namespace sluice::worker::calls {
namespace {

static_assert(wire::kMaxBoxPiece <= Staging::kChunk && wire::kMaxBoxPiece <= DownloadBuffers::kChunk);

// One piece on its way to the client, sent when the stream has come to it.
struct Piece {
  Session* session;
  uint32_t download;
  uint64_t offset;
  size_t bytes;
  DownloadBuffers::Buffer* buffer;
  bool last;
};

void send_piece(void* argument) {
  const std::unique_ptr<Piece> piece(static_cast<Piece*>(argument));
  struct __attribute__((packed)) {
    uint32_t download;
    uint64_t offset;
  } head{piece->download, piece->offset};
  piece->session->send(wire::ResponseKind::download, &head, sizeof head, piece->buffer->memory, piece->bytes);
  if (piece->last) piece->session->downloads.give_back(piece->buffer);
}

CUresult send_when_reached(CUstream stream, const Piece& piece) {
  auto argument = std::make_unique<Piece>(piece);
  const CUresult result = piece.session->driver.cuLaunchHostFunc(stream, send_piece, argument.get());
  if (result == CUDA_SUCCESS) static_cast<void>(argument.release());
  return result;
}

struct End {
  wire::BoxEnd where{};
  uint32_t context = 0;  // of copies between peers
  uint64_t address = 0;
  uint64_t pitch = 0;
  uint64_t rows = 0;  // from slice to slice
  uint32_t array_index = 0;
  uint64_t x = 0;
  uint64_t y = 0;
  uint64_t z = 0;
};

End read_end(wire::Reader& args) {
  End end;
  end.where = static_cast<wire::BoxEnd>(args.get<uint8_t>());
  switch (end.where) {
    case wire::BoxEnd::host:
      return end;
    case wire::BoxEnd::linear:
      end.context = args.get<uint32_t>();
      for (uint64_t* word : {&end.address, &end.pitch, &end.rows}) *word = args.get<uint64_t>();
      return end;
    case wire::BoxEnd::array:
      end.context = args.get<uint32_t>();
      end.array_index = args.get<uint32_t>();
      for (uint64_t* word : {&end.x, &end.y, &end.z}) *word = args.get<uint64_t>();
      return end;
  }
  args.fail();
  return end;
}

struct Box {
  End dst;
  End src;
  BoxExtent extent;
  CUDA_MEMCPY3D_PEER copy{};  // the whole of it, with the driver's handles
  CUstream stream = nullptr;
};

// Nothing that the driver will add or multiply leaves 64 bits.
bool fits(const End& end, const BoxExtent& extent) {
  uint64_t sum = 0;
  if (end.where == wire::BoxEnd::array) {
    return !__builtin_add_overflow(end.x, extent.width, &sum) &&
           !__builtin_add_overflow(end.y, extent.height, &sum) &&
           !__builtin_add_overflow(end.z, extent.depth, &sum);
  }
  if (end.where == wire::BoxEnd::host) return true;
  uint64_t slice = 0;
  if ((extent.height > 1 || extent.depth > 1) && end.pitch < extent.width) return false;
  if (extent.depth > 1 && end.rows < extent.height) return false;
  return !__builtin_mul_overflow(end.pitch, std::max<uint64_t>(end.rows, extent.height), &slice) &&
         !__builtin_mul_overflow(slice, extent.depth, &sum) &&
         !__builtin_add_overflow(sum, extent.width, &sum) && !__builtin_add_overflow(sum, end.address, &sum);
}

CUresult find_handles(Session& session, const End& end, CUarray* array, CUcontext* context) {
  if (end.where == wire::BoxEnd::array && !session.find(end.array_index, array))
    return CUDA_ERROR_INVALID_HANDLE;
  return end.context == 0 || session.find(end.context, context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUmemorytype type_of(const End& end) {
  switch (end.where) {
    case wire::BoxEnd::host:
      return CU_MEMORYTYPE_HOST;
    case wire::BoxEnd::linear:
      return CU_MEMORYTYPE_DEVICE;
    case wire::BoxEnd::array:
      break;
  }
  return CU_MEMORYTYPE_ARRAY;
}

CUresult describe(Session& session, Box& box) {
  if (!fits(box.dst, box.extent) || !fits(box.src, box.extent)) return CUDA_ERROR_INVALID_VALUE;
  CUDA_MEMCPY3D_PEER& c = box.copy;
  if (CUresult error = find_handles(session, box.dst, &c.dstArray, &c.dstContext)) return error;
  if (CUresult error = find_handles(session, box.src, &c.srcArray, &c.srcContext)) return error;
  c.dstMemoryType = type_of(box.dst);
  c.dstDevice = box.dst.address;
  c.dstPitch = box.dst.pitch;
  c.dstHeight = box.dst.rows;
  c.dstXInBytes = box.dst.x;
  c.dstY = box.dst.y;
  c.dstZ = box.dst.z;
  c.srcMemoryType = type_of(box.src);
  c.srcDevice = box.src.address;
  c.srcPitch = box.src.pitch;
  c.srcHeight = box.src.rows;
  c.srcXInBytes = box.src.x;
  c.srcY = box.src.y;
  c.srcZ = box.src.z;
  c.WidthInBytes = box.extent.width;
  c.Height = box.extent.height;
  c.Depth = box.extent.depth;
  return CUDA_SUCCESS;
}

CUresult enqueue(Session& session, const CUDA_MEMCPY3D_PEER& p, CUstream stream) {
  if (p.srcContext != nullptr || p.dstContext != nullptr) {
    if (session.driver.cuMemcpy3DPeerAsync == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    return session.driver.cuMemcpy3DPeerAsync(&p, stream);
  }
  if (session.driver.cuMemcpy3DAsync_v2 == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  const CUDA_MEMCPY3D copy{p.srcXInBytes,   p.srcY,        p.srcZ,         0,          p.srcMemoryType,
                           p.srcHost,       p.srcDevice,   p.srcArray,     nullptr,    p.srcPitch,
                           p.srcHeight,     p.dstXInBytes, p.dstY,         p.dstZ,     0,
                           p.dstMemoryType, p.dstHost,     p.dstDevice,    p.dstArray, nullptr,
                           p.dstPitch,      p.dstHeight,   p.WidthInBytes, p.Height,   p.Depth};
  return session.driver.cuMemcpy3DAsync_v2(&copy, stream);
}

// The whole box, or a piece of it, with packed host memory at one end.
CUresult enqueue_from(Session& session, const Box& box, const void* packed) {
  CUDA_MEMCPY3D_PEER copy = box.copy;
  copy.srcHost = packed;
  copy.srcPitch = box.extent.width;
  copy.srcHeight = box.extent.height;
  return enqueue(session, copy, box.stream);
}

CUresult enqueue_piece(Session& session, const Box& box, const BoxPiece& piece, void* packed) {
  CUDA_MEMCPY3D_PEER copy = box.copy;
  copy.dstHost = packed;
  copy.dstPitch = piece.extent.width;
  copy.dstHeight = piece.extent.height;
  if (box.src.where == wire::BoxEnd::array) {
    copy.srcXInBytes += piece.x;
    copy.srcY += piece.y;
    copy.srcZ += piece.z;
  } else {
    copy.srcDevice += (piece.z * box.src.rows + piece.y) * box.src.pitch + piece.x;
  }
  copy.WidthInBytes = piece.extent.width;
  copy.Height = piece.extent.height;
  copy.Depth = piece.extent.depth;
  return enqueue(session, copy, box.stream);
}

void to_device(Session& session, Request& request, const Box& box, uint64_t bytes) {
  Staging::Chunk* chunk = session.staging.take(bytes, !session.host_tasks.outstanding());
  if (chunk == nullptr) return session.finish(request, CUDA_ERROR_OUT_OF_MEMORY);
  if (!session.read_bulk(request, chunk->memory, bytes)) return;
  const CUresult result = enqueue_from(session, box, chunk->memory);
  session.staging.used_in(chunk, box.stream);
  session.finish(request, result);
}

// As cuMemcpyDtoHAsync: one buffer is enough, because the stream copies the next piece after it has sent the
// one before.
void to_host(Session& session, Request& request, const Box& box, uint64_t bytes, uint32_t download) {
  DownloadBuffers::Buffer* buffer = session.downloads.take();
  if (buffer == nullptr) return session.finish(request, CUDA_ERROR_OUT_OF_MEMORY);
  CUresult result = CUDA_SUCCESS;
  for_each_piece(box.extent, wire::kMaxBoxPiece, [&](const BoxPiece& piece) {
    const size_t part = piece.extent.bytes();
    result = enqueue_piece(session, box, piece, buffer->memory);
    if (result == CUDA_SUCCESS) {
      const bool last = piece.offset + part == bytes;
      result = send_when_reached(box.stream, {&session, download, piece.offset, part, buffer, last});
    }
    return result == CUDA_SUCCESS;
  });
  if (result != CUDA_SUCCESS) session.finish(request, result);  // the buffer may still be in use
}

// As host_copy: the stream asks the client for the bytes when it has come here.
void late(Session& session, Request& request, const Box& box, uint64_t bytes, uint32_t number) {
  if (bytes > wire::kMaxBulk) return session.bad_frame(request);
  LateCopies::Copy* copy = session.late_copies.take(bytes);
  if (copy == nullptr) return session.finish(request, CUDA_ERROR_OUT_OF_MEMORY);
  const auto task = session.host_tasks.add(&session, number, bytes);
  if (!task) return session.bad_frame(request);
  task->target = copy->memory;
  auto holder = std::make_unique<std::shared_ptr<HostTask>>(task);
  CUresult result = session.driver.cuLaunchHostFunc(box.stream, run_host_task, holder.get());
  if (result != CUDA_SUCCESS) {
    session.host_tasks.finish(*task);
    LateCopies::mark_used(copy);
    return session.finish(request, result);
  }
  static_cast<void>(holder.release());
  result = enqueue_from(session, box, copy->memory);
  if (result == CUDA_SUCCESS)
    result = session.driver.cuLaunchHostFunc(box.stream, LateCopies::mark_used, copy);
  session.finish(request, result);
}

bool is_host(const End& end) { return end.where == wire::BoxEnd::host; }

}  // namespace

// Arguments: put_arguments in the client's box_copy.cc.
void cuMemcpy3DAsync_v2(Session& session, Request& request) {
  wire::Reader& args = request.args;
  const auto direction = static_cast<wire::BoxDirection>(args.get<uint8_t>());
  Box box;
  box.dst = read_end(args);
  box.src = read_end(args);
  box.extent.width = args.get<uint64_t>();
  box.extent.height = args.get<uint64_t>();
  box.extent.depth = args.get<uint64_t>();
  const auto stream_index = args.get<uint32_t>();
  const auto number = args.get<uint32_t>();
  size_t bytes = 0;
  if (!args.finished() || box.extent.is_empty() || !box.extent.count(&bytes))
    return session.bad_frame(request);
  const bool uploads = direction == wire::BoxDirection::to_device || direction == wire::BoxDirection::late;
  const bool downloads = direction == wire::BoxDirection::to_host;
  if (is_host(box.src) != uploads || is_host(box.dst) != downloads || direction > wire::BoxDirection::late)
    return session.bad_frame(request);
  const bool carries = direction == wire::BoxDirection::to_device;
  if (carries ? bytes != request.bulk_bytes || bytes > wire::kMaxBoxPiece : request.bulk_bytes != 0)
    return session.bad_frame(request);
  if (!session.find(stream_index, &box.stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (CUresult error = describe(session, box)) return session.finish(request, error);
  switch (direction) {
    case wire::BoxDirection::within:
      return session.finish(request, enqueue(session, box.copy, box.stream));
    case wire::BoxDirection::to_device:
      return to_device(session, request, box, bytes);
    case wire::BoxDirection::to_host:
      return to_host(session, request, box, bytes, number);
    case wire::BoxDirection::late:
      return late(session, request, box, bytes, number);
  }
}

}  // namespace sluice::worker::calls
