// Copies of two dimensions; rows travel packed.
#include <algorithm>

#include "worker/calls/session.h"

namespace sluice::worker::calls {
namespace {

// As in the client's calls/copy_2d.cc.
enum class Direction : uint8_t { within_device = 0, to_device = 1, to_host = 2 };

struct Rows {
  uint64_t dst;
  uint64_t dst_pitch;
  uint64_t src;
  uint64_t src_pitch;
  uint64_t width;
  uint64_t height;
};

CUDA_MEMCPY2D between(const Rows& rows) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = rows.src;
  copy.srcPitch = rows.src_pitch;
  copy.dstDevice = rows.dst;
  copy.dstPitch = rows.dst_pitch;
  copy.WidthInBytes = rows.width;
  copy.Height = rows.height;
  return copy;
}

// Rows that go through a chunk at a time; wider rows than a chunk are cut by columns.
void copy_to_device(Session& session, Request& request, const Rows& rows, CUstream stream) {
  const bool may_wait = !session.host_tasks.outstanding();
  CUresult result = CUDA_SUCCESS;
  for (uint64_t row = 0; row < rows.height && result == CUDA_SUCCESS;) {
    const uint64_t count = std::clamp<uint64_t>(Staging::kChunk / rows.width, 1, rows.height - row);
    for (uint64_t column = 0; column < rows.width && result == CUDA_SUCCESS;) {
      const uint64_t width = std::min<uint64_t>(rows.width - column, Staging::kChunk);
      Staging::Chunk* chunk = session.staging.take(width * count, may_wait);
      if (chunk == nullptr) return session.finish(request, CUDA_ERROR_OUT_OF_MEMORY);
      if (!session.read_bulk(request, chunk->memory, width * count)) return;
      CUDA_MEMCPY2D copy = between(rows);
      copy.srcMemoryType = CU_MEMORYTYPE_HOST;
      copy.srcHost = chunk->memory;
      copy.srcDevice = 0;
      copy.srcPitch = width;
      copy.dstDevice = rows.dst + row * rows.dst_pitch + column;
      copy.WidthInBytes = width;
      copy.Height = count;
      result = session.driver.cuMemcpy2DAsync_v2(&copy, stream);
      session.staging.used_in(chunk, stream);
      column += width;
    }
    row += count;
  }
  session.finish(request, result);
}

void copy_to_host(Session& session, Request& request, const Rows& rows, CUstream stream) {
  if (CUresult earlier = session.take_error()) return session.finish(request, earlier);
  std::vector<uint8_t> packed(rows.width * rows.height);
  session.give_lead();
  CUDA_MEMCPY2D copy = between(rows);
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = packed.data();
  copy.dstDevice = 0;
  copy.dstPitch = rows.width;
  CUresult result = session.driver.cuMemcpy2DAsync_v2(&copy, stream);
  const CUresult waited = session.driver.cuStreamSynchronize(stream);
  if (result == CUDA_SUCCESS) result = waited;
  if (result != CUDA_SUCCESS) return session.finish(request, result);
  const std::lock_guard lock(session.write_mutex());
  if (session.send_head(request, CUDA_SUCCESS, packed.size())) session.send_raw(packed.data(), packed.size());
}

}  // namespace

void cuMemcpy2DAsync_v2(Session& session, Request& request) {
  const auto direction = static_cast<Direction>(request.args.get<uint8_t>());
  Rows rows{};
  for (uint64_t* word : {&rows.dst, &rows.dst_pitch, &rows.src, &rows.src_pitch, &rows.width, &rows.height}) {
    *word = request.args.get<uint64_t>();
  }
  const auto stream_index = request.args.get<uint32_t>();
  const bool sane = request.args.finished() && rows.width > 0 && rows.height > 0;
  if (!sane) return session.bad_frame(request);
  CUstream stream = nullptr;
  if (!session.find(stream_index, &stream)) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  if (direction == Direction::within_device) {
    const CUDA_MEMCPY2D copy = between(rows);
    return session.finish(request, session.driver.cuMemcpy2DAsync_v2(&copy, stream));
  }
  if (rows.width > wire::kMaxBulk / rows.height) return session.bad_frame(request);
  if (direction == Direction::to_device && request.bulk_bytes == rows.width * rows.height) {
    return copy_to_device(session, request, rows, stream);
  }
  if (direction == Direction::to_host && request.sync()) return copy_to_host(session, request, rows, stream);
  session.bad_frame(request);
}

}  // namespace sluice::worker::calls
