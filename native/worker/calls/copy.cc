// Copies between the client's memory and the GPU's.
#include <algorithm>
#include <memory>
#include <vector>

#include "worker/calls/session.h"

namespace sluice::worker::calls {
namespace {

CUresult copy_down(Session& session, uint8_t* into, CUdeviceptr from, size_t bytes, CUstream stream) {
  if (stream == nullptr) return session.driver.cuMemcpyDtoH_v2(into, from, bytes);
  const CUresult result = session.driver.cuMemcpyDtoHAsync_v2(into, from, bytes, stream);
  return result == CUDA_SUCCESS ? session.driver.cuStreamSynchronize(stream) : result;
}

bool send_download(Session& session, uint32_t download, uint64_t offset, const uint8_t* data, size_t bytes) {
  struct __attribute__((packed)) {
    uint32_t download;
    uint64_t offset;
  } head{download, offset};
  return session.send(wire::ResponseKind::download, &head, sizeof head, data, bytes);
}

// The answer with the bytes from where they lie, once the stream has come here.
void send_in_place(Session& session, Request& request, const uint8_t* source, uint64_t bytes,
                   CUstream stream) {
  const bool soon = session.done_soon([&] { return session.driver.cuStreamQuery(stream); });
  if (!soon || bytes > Staging::kChunk) session.give_lead();
  const CUresult result = session.driver.cuStreamSynchronize(stream);
  if (result != CUDA_SUCCESS) return session.finish(request, result);
  const std::lock_guard lock(session.write_mutex());
  session.send_head(request, CUDA_SUCCESS, bytes, source, bytes);
}

// An asynchronous copy whose pieces are sent from where they lie.
struct InPlace {
  Session* session;
  uint32_t download;
  const uint8_t* source;
  uint64_t bytes;
};

void send_pieces(void* argument) {
  const std::unique_ptr<InPlace> copy(static_cast<InPlace*>(argument));
  for (uint64_t offset = 0; offset < copy->bytes; offset += Staging::kChunk) {
    const size_t bytes = std::min<uint64_t>(copy->bytes - offset, Staging::kChunk);
    if (!send_download(*copy->session, copy->download, offset, copy->source + offset, bytes)) return;
  }
}

// One piece of an asynchronous copy to the client, sent when the stream has come to it.
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
  send_download(*piece->session, piece->download, piece->offset, piece->buffer->memory, piece->bytes);
  if (piece->last) piece->session->downloads.give_back(piece->buffer);
}

}  // namespace

void cuMemcpyHtoDAsync_v2(Session& session, Request& request) {
  auto address = request.args.get<uint64_t>();
  const auto stream_index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  CUstream stream = nullptr;
  if (!session.find(stream_index, &stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (uint8_t* target = session.host_visible.find_idle(address, request.bulk_bytes, stream)) {
    if (!session.read_bulk(request, target, request.bulk_bytes)) return;
    return session.finish(request, CUDA_SUCCESS);
  }
  const bool may_wait = !session.host_tasks.outstanding();
  if (request.bulk_bytes <= Staging::kSmallChunk) {
    const size_t bytes = request.bulk_bytes;
    uint8_t* part = session.staging.take_part(bytes, stream, may_wait);
    if (part == nullptr) return session.finish(request, CUDA_ERROR_OUT_OF_MEMORY);
    if (!session.read_bulk(request, part, bytes)) return;
    return session.finish(request, session.driver.cuMemcpyHtoDAsync_v2(address, part, bytes, stream));
  }
  CUresult result = CUDA_SUCCESS;
  while (request.bulk_bytes > 0 && result == CUDA_SUCCESS) {
    const size_t bytes = std::min<uint64_t>(request.bulk_bytes, Staging::kChunk);
    Staging::Chunk* chunk = session.staging.take(bytes, may_wait);
    if (chunk == nullptr) return session.finish(request, CUDA_ERROR_OUT_OF_MEMORY);
    if (!session.read_bulk(request, chunk->memory, bytes)) return;
    result = session.driver.cuMemcpyHtoDAsync_v2(address, chunk->memory, bytes, stream);
    session.staging.used_in(chunk, stream);
    address += bytes;
  }
  session.finish(request, result);
}

void cuMemcpyDtoH_v2(Session& session, Request& request) {
  const auto address = request.args.get<uint64_t>();
  const auto bytes = request.args.get<uint64_t>();
  const auto stream_index = request.args.get<uint32_t>();
  if (!request.args.finished() || bytes == 0 || bytes > wire::kMaxBulk) return session.bad_frame(request);
  CUstream stream = nullptr;
  if (!session.find(stream_index, &stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (CUresult earlier = session.take_error()) return session.finish(request, earlier);
  if (const uint8_t* source = session.host_visible.find(address, bytes, stream)) {
    return send_in_place(session, request, source, bytes, stream);
  }
  DownloadBuffers::Buffer* buffer = session.downloads.take();
  if (buffer == nullptr) return session.finish(request, CUDA_ERROR_OUT_OF_MEMORY);
  const bool soon = session.done_soon([&] { return session.driver.cuStreamQuery(stream); });
  if (!soon || bytes > Staging::kChunk) session.give_lead();

  size_t part = std::min<uint64_t>(bytes, Staging::kChunk);
  CUresult result = copy_down(session, buffer->memory, address, part, stream);
  if (result != CUDA_SUCCESS) {
    session.finish(request, result);
  } else {
    const std::lock_guard lock(session.write_mutex());
    bool sent = session.send_head(request, CUDA_SUCCESS, bytes, buffer->memory, part);
    uint64_t done = 0;
    while (sent) {
      done += part;
      if (done == bytes) break;
      part = std::min<uint64_t>(bytes - done, Staging::kChunk);
      result = copy_down(session, buffer->memory, address + done, part, stream);
      if (result != CUDA_SUCCESS) {
        session.context.connection.shutdown();  // half an answer cannot be taken back
        break;
      }
      sent = session.send_raw(buffer->memory, part);
    }
  }
  session.downloads.give_back(buffer);
}

void cuMemcpyDtoHAsync_v2(Session& session, Request& request) {
  const auto download = request.args.get<uint32_t>();
  const auto address = request.args.get<uint64_t>();
  const auto bytes = request.args.get<uint64_t>();
  const auto stream_index = request.args.get<uint32_t>();
  if (!request.args.finished() || bytes == 0) return session.bad_frame(request);
  CUstream stream = nullptr;
  if (!session.find(stream_index, &stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (const uint8_t* source = session.host_visible.find(address, bytes, stream)) {
    auto copy = std::make_unique<InPlace>(InPlace{&session, download, source, bytes});
    const CUresult result = session.driver.cuLaunchHostFunc(stream, send_pieces, copy.get());
    if (result == CUDA_SUCCESS) static_cast<void>(copy.release());
    return session.finish(request, result);
  }
  // One buffer is enough: the stream copies the next piece after it has sent the one before.
  DownloadBuffers::Buffer* buffer = session.downloads.take();
  if (buffer == nullptr) return session.finish(request, CUDA_ERROR_OUT_OF_MEMORY);
  for (uint64_t offset = 0; offset < bytes; offset += Staging::kChunk) {
    const size_t part = std::min<uint64_t>(bytes - offset, Staging::kChunk);
    CUresult result = session.driver.cuMemcpyDtoHAsync_v2(buffer->memory, address + offset, part, stream);
    if (result != CUDA_SUCCESS) return session.finish(request, result);  // the buffer may still be in use
    auto piece =
        std::make_unique<Piece>(Piece{&session, download, offset, part, buffer, offset + part == bytes});
    result = session.driver.cuLaunchHostFunc(stream, send_piece, piece.get());
    if (result != CUDA_SUCCESS) return session.finish(request, result);
    static_cast<void>(piece.release());
  }
}

// The stream asks the client for the bytes when it has come here.
void host_copy(Session& session, Request& request) {
  const auto number = request.args.get<uint32_t>();
  const auto address = request.args.get<uint64_t>();
  const auto bytes = request.args.get<uint64_t>();
  const auto stream_index = request.args.get<uint32_t>();
  if (!request.args.finished() || bytes == 0 || bytes > wire::kMaxBulk) return session.bad_frame(request);
  CUstream stream = nullptr;
  if (!session.find(stream_index, &stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  LateCopies::Copy* late = session.late_copies.take(bytes);
  if (late == nullptr) return session.finish(request, CUDA_ERROR_OUT_OF_MEMORY);
  const auto task = session.host_tasks.add(&session, number, bytes);
  if (!task) return session.bad_frame(request);
  task->target = late->memory;
  auto holder = std::make_unique<std::shared_ptr<HostTask>>(task);
  CUresult result = session.driver.cuLaunchHostFunc(stream, run_host_task, holder.get());
  if (result != CUDA_SUCCESS) {
    session.host_tasks.finish(*task);
    LateCopies::mark_used(late);
    return session.finish(request, result);
  }
  static_cast<void>(holder.release());
  result = session.driver.cuMemcpyHtoDAsync_v2(address, late->memory, bytes, stream);
  if (result == CUDA_SUCCESS) result = session.driver.cuLaunchHostFunc(stream, LateCopies::mark_used, late);
  session.finish(request, result);
}

}  // namespace sluice::worker::calls
