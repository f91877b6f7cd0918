#include "client/box_copy.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "client/between_servers.h"
#include "client/box_ends.h"
#include "client/captures.h"
#include "client/task_order.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client {
namespace {

using generated::CallId;

struct Copy {
  Scope scope;
  CUstream handle = nullptr;  // as given, for calls in the thread's own context
  Stream* stream = nullptr;
  BoxEnd dst;
  BoxEnd src;
  BoxExtent extent;
  BoxMode mode{};

  uint32_t stream_index() const { return stream ? stream->index : 0; }
  // cuStreamSynchronize in the copy's context, which need not be the thread's.
  CUresult synchronize() {
    if (scope.is_settled()) return CUDA_SUCCESS;
    wire::SyncFrame<4> frame(CallId::cuStreamSynchronize);
    frame.put(stream_index());
    const CUresult result = scope.call(frame);
    if (result == CUDA_SUCCESS && stream == nullptr) scope.settle_blocking();
    return result;
  }
};

// The arguments of the frame, in the order in which the worker's calls/box_copy.cc reads them.
void put_arguments(const Copy& copy, wire::Writer& arguments, wire::BoxDirection direction,
                   const BoxPiece& piece, uint32_t number) {
  arguments.put(static_cast<uint8_t>(direction));
  put_end(arguments, copy.dst, piece);
  put_end(arguments, copy.src, piece);
  arguments.put(uint64_t{piece.extent.width});
  arguments.put(uint64_t{piece.extent.height});
  arguments.put(uint64_t{piece.extent.depth});
  arguments.put(copy.stream_index());
  arguments.put(number);
}

BoxPiece whole(const Copy& copy) { return {0, 0, 0, copy.extent, 0}; }

CUresult post_whole(Copy& copy, wire::BoxDirection direction, uint32_t number) {
  wire::DynamicFrame frame(CallId::cuMemcpy3DAsync_v2);
  put_arguments(copy, frame.arguments(), direction, whole(copy), number);
  frame.complete();
  return copy.scope.post(frame);
}

// Piece after piece, so that the worker copies one while the next is on its way. Only bytes that are copied
// travel, never those between the rows.
CUresult upload(Copy& copy) {
  const HostShape shape = host_shape(copy.src, copy.extent);
  const auto* base = reinterpret_cast<const uint8_t*>(copy.src.address);
  const bool packed = shape.is_packed();
  std::vector<uint8_t> gathered;
  CUresult result = CUDA_SUCCESS;
  for_each_piece(copy.extent, wire::kMaxBoxPiece, [&](const BoxPiece& piece) {
    const size_t bytes = piece.extent.bytes();
    const uint8_t* from = base + piece.offset;
    if (!packed) {
      if (gathered.size() < bytes) gathered.resize(bytes);
      gather(shape, base, piece.offset, bytes, gathered.data());
      from = gathered.data();
    }
    wire::DynamicFrame frame(CallId::cuMemcpy3DAsync_v2, wire::kBulk);
    put_arguments(copy, frame.arguments(), wire::BoxDirection::to_device, piece, 0);
    frame.complete(bytes);
    Scope& scope = copy.scope;
    result = scope.channel->post(scope.context_index(), frame.data(), frame.size(), from, bytes);
    return result == CUDA_SUCCESS;
  });
  return result;
}

// The worker asks for the bytes when the stream has come to the copy.
CUresult upload_when_reached(Copy& copy) {
  HostTask sends;
  sends.channel = copy.scope.channel;
  sends.source = reinterpret_cast<const void*>(copy.src.address);
  sends.bytes = copy.extent.bytes();
  sends.shape = host_shape(copy.src, copy.extent);
  HostTasks& tasks = copy.scope.session->tasks;
  const uint32_t task = tasks.add(sends);
  const CUresult error = post_whole(copy, wire::BoxDirection::late, task);
  if (error != CUDA_SUCCESS) tasks.forget(task);
  return error;
}

CUresult to_device(Copy& copy) {
  HostTasks& tasks = copy.scope.session->tasks;
  const auto* source = reinterpret_cast<const void*>(copy.src.address);
  const HostShape shape = host_shape(copy.src, copy.extent);
  // Work before the copy may still write what it reads.
  const bool may_change = tasks.pending_up_to(last_task(*copy.scope.context, copy.stream)) ||
                          tasks.downloads_into(source, shape.span());
  if (!may_change) return upload(copy);
  if (copy.mode == BoxMode::synchronous) {
    if (CUresult error = copy.synchronize()) return error;
    return upload(copy);
  }
  const bool in_order =
      copy.mode == BoxMode::stream_ordered || is_pinned(*copy.scope.session, source, shape.span());
  return in_order && shape.extent.bytes() <= wire::kMaxBulk ? upload_when_reached(copy) : upload(copy);
}

CUresult to_host(Copy& copy) {
  HostTasks& tasks = copy.scope.session->tasks;
  auto* target = reinterpret_cast<void*>(copy.dst.address);
  const HostShape shape = host_shape(copy.dst, copy.extent);
  const uint32_t number = tasks.add_download(target, shape);
  if (CUresult error = post_whole(copy, wire::BoxDirection::to_host, number)) {
    tasks.forget_download(number);
    return error;
  }
  const bool waits =
      copy.mode == BoxMode::synchronous ||
      (copy.mode == BoxMode::asynchronous && !is_pinned(*copy.scope.session, target, shape.span()));
  if (!waits) return CUDA_SUCCESS;
  // The answer comes after the bytes: one round trip, whatever the number of pieces.
  const CUresult error = copy.synchronize();
  if (error != CUDA_SUCCESS) tasks.abandon_download(number);
  return error;
}

CUresult within_host(Copy& copy) {
  if (CUresult error = copy.synchronize()) return error;
  const HostShape to = host_shape(copy.dst, copy.extent);
  const HostShape from = host_shape(copy.src, copy.extent);
  for (size_t z = 0; z < copy.extent.depth; z++) {
    for (size_t y = 0; y < copy.extent.height; y++) {
      std::memmove(reinterpret_cast<void*>(copy.dst.address + z * to.slice + y * to.pitch),
                   reinterpret_cast<const void*>(copy.src.address + z * from.slice + y * from.pitch),
                   copy.extent.width);
    }
  }
  return CUDA_SUCCESS;
}

// From a GPU of one server to a GPU of another, through memory of the client. What is in the stream so far is
// done before, and what comes later waits for the copy.
CUresult between_servers(Copy& copy) {
  constexpr size_t kPiece = size_t{8} << 20;
  if (CUresult error = copy.synchronize()) return error;
  const StreamPlace later{copy.scope.context, copy.stream};
  std::vector<uint8_t> bytes(std::min(kPiece, copy.extent.bytes()));
  CUresult result = CUDA_SUCCESS;
  for_each_piece(copy.extent, kPiece, [&](const BoxPiece& piece) {
    Copy half = copy;
    half.stream = nullptr;
    half.extent = piece.extent;
    half.mode = BoxMode::synchronous;
    BoxEnd packed;
    packed.address = reinterpret_cast<uint64_t>(bytes.data());
    packed.pitch = piece.extent.width;
    packed.rows = piece.extent.height;
    // Both halves run in the default stream of the context that has the memory.
    const auto run = [&](Context* owner, const BoxEnd& dst, const BoxEnd& src, CUresult (*direction)(Copy&)) {
      half.scope.context = owner;
      half.dst = dst;
      half.src = src;
      if (CUresult error = half.scope.need_context()) return error;
      return direction(half);
    };
    result = run(copy.src.owner, packed, moved(copy.src, piece), to_host);
    if (result == CUDA_SUCCESS) result = run(copy.dst.owner, moved(copy.dst, piece), packed, upload);
    return result == CUDA_SUCCESS;
  });
  if (result != CUDA_SUCCESS) return result;
  return wait_for_stream(*copy.scope.session, {copy.dst.owner, nullptr}, later);
}

// The call is made on the server that has the memory. A stream of another server is waited for first.
CUresult go_to(Copy& copy, Context* owner) {
  if (owner == nullptr || owner->channel == copy.scope.context->channel) return CUDA_SUCCESS;
  if (copy.stream != nullptr) {
    if (CUresult error = copy.synchronize()) return error;
  }
  copy.scope.context = owner;
  copy.stream = nullptr;
  return copy.scope.need_context();
}

// Rows that touch on both sides are one long row, which the one-dimensional copies carry.
bool is_one_row(const Copy& copy) {
  const auto touches = [&](const BoxEnd& end) {
    return end.where != wire::BoxEnd::array && host_shape(end, copy.extent).is_packed();
  };
  return touches(copy.dst) && touches(copy.src) && copy.mode != BoxMode::stream_ordered;
}

CUresult copy_row(const Copy& copy) {
  const size_t bytes = copy.extent.bytes();
  if (copy.mode == BoxMode::asynchronous)
    return calls::cuMemcpyAsync(copy.dst.address, copy.src.address, bytes, copy.handle);
  return calls::cuMemcpy(copy.dst.address, copy.src.address, bytes, copy.handle);
}

CUresult run(Copy& copy) {
  const bool from_host = copy.src.where == wire::BoxEnd::host;
  const bool into_host = copy.dst.where == wire::BoxEnd::host;
  if (from_host && into_host) return within_host(copy);
  const bool peers = copy.dst.peer != 0 || copy.src.peer != 0;
  if (!peers && is_one_row(copy)) return copy_row(copy);
  if (!from_host && !into_host && copy.src.owner->channel != copy.dst.owner->channel)
    return between_servers(copy);
  if (CUresult error = go_to(copy, into_host ? copy.src.owner : copy.dst.owner)) return error;
  if (from_host) return to_device(copy);
  if (into_host) return to_host(copy);
  return post_whole(copy, wire::BoxDirection::within, 0);
}

CUDA_MEMCPY3D as_memcpy3d(const BoxEndGiven& dst, const BoxEndGiven& src, const BoxExtent& extent) {
  CUDA_MEMCPY3D c{};
  c.srcXInBytes = src.x;
  c.srcY = src.y;
  c.srcZ = src.z;
  c.srcMemoryType = src.type;
  c.srcHost = src.host;
  c.srcDevice = src.device;
  c.srcArray = src.array;
  c.srcPitch = src.pitch;
  c.srcHeight = src.height;
  c.dstXInBytes = dst.x;
  c.dstY = dst.y;
  c.dstZ = dst.z;
  c.dstMemoryType = dst.type;
  c.dstHost = const_cast<void*>(dst.host);
  c.dstDevice = dst.device;
  c.dstArray = dst.array;
  c.dstPitch = dst.pitch;
  c.dstHeight = dst.height;
  c.WidthInBytes = extent.width;
  c.Height = extent.height;
  c.Depth = extent.depth;
  return c;
}

}  // namespace

CUresult copy_box(const BoxEndGiven& dst, const BoxEndGiven& src, const BoxExtent& extent, CUstream stream,
                  BoxMode mode) {
  Copy copy;
  copy.handle = stream;
  copy.extent = extent;
  copy.mode = mode;
  if (CUresult error = copy.scope.enter()) return error;
  if (CUresult error = copy.scope.find(stream, &copy.stream)) return error;
  if (CUresult error = copy.scope.need_context()) return error;
  if (extent.is_empty()) return CUDA_SUCCESS;
  size_t bytes = 0;
  if (!extent.count(&bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = place_end(copy.scope, dst, extent, &copy.dst)) return error;
  if (CUresult error = place_end(copy.scope, src, extent, &copy.src)) return error;
  const bool touches_host = copy.src.where == wire::BoxEnd::host || copy.dst.where == wire::BoxEnd::host;
  if (copy.scope.capture != 0 && touches_host)
    return capture_copy(copy.scope, copy.stream, as_memcpy3d(dst, src, extent));
  return run(copy);
}

}  // namespace sluice::client
