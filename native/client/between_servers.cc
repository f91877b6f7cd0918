#include "client/between_servers.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "client/gate.h"
#include "client/peer_links.h"
#include "common/log.h"
#include "generated/call_ids.h"

namespace sluice::client {
namespace {

using generated::CallId;

// Enough under way to fill 10 Gbit/s at 30 ms.
constexpr size_t kPiece = size_t{8} << 20;
constexpr size_t kPiecesUnderWay = 6;

template <typename Frame>
CUresult post(const StreamPlace& place, const Frame& frame) {
  return place.context->channel->post(place.context->index, frame.data(), frame.size());
}

// The stream stands at the task until the client has done it.
CUresult stand_at(Session& session, const StreamPlace& place, HostTask task) {
  task.channel = place.context->channel;
  task.context = place.context;
  const uint32_t number = session.tasks.add(task);
  wire::AsyncFrame<8> frame(CallId::cuLaunchHostFunc);
  frame.put(place.stream_index());
  frame.put(number);
  const CUresult error = post(place, frame);
  if (error != CUDA_SUCCESS) session.tasks.forget(number);
  return error;
}

CUresult wait_on_one_server(Session& session, const StreamPlace& earlier, const StreamPlace& later) {
  Event* event = nullptr;
  if (session.events.mint(&event) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  wire::AsyncFrame<8> create(CallId::cuEventCreate);
  create.put(event->index);
  create.put(uint32_t{CU_EVENT_DISABLE_TIMING});
  wire::AsyncFrame<12> record(CallId::cuEventRecordWithFlags);
  record.put(event->index);
  record.put(earlier.stream_index());
  record.put(uint32_t{CU_EVENT_RECORD_DEFAULT});
  wire::AsyncFrame<12> wait(CallId::cuStreamWaitEvent);
  wait.put(later.stream_index());
  wait.put(event->index);
  wait.put(uint32_t{CU_EVENT_WAIT_DEFAULT});
  wire::AsyncFrame<4> destroy(CallId::cuEventDestroy_v2);
  destroy.put(event->index);
  CUresult result = post(earlier, create);
  if (result == CUDA_SUCCESS) result = post(earlier, record);
  if (result == CUDA_SUCCESS) result = post(later, wait);
  if (result == CUDA_SUCCESS) result = post(later, destroy);
  session.events.release(event);
  return result;
}

// One copy on its way. Every step runs in the thread of HostTasks that sends, one after the other.
class Transfer : public std::enable_shared_from_this<Transfer> {
 public:
  Transfer(Session& session, StreamPlace from, CUdeviceptr src, StreamPlace to, CUdeviceptr dst, size_t bytes)
      : session_(session), from_(from), to_(to), src_(src), dst_(dst), bytes_(bytes) {}

  // The first pieces are asked for; `finished` opens when the last has been written.
  CUresult start(std::shared_ptr<Gate> finished) {
    finished_ = std::move(finished);
    for (size_t i = 0; i < kPiecesUnderWay && asked_ < bytes_; i++) {
      auto buffer = std::make_unique<std::vector<uint8_t>>(std::min(kPiece, bytes_ - asked_));
      if (CUresult error = ask(buffer->data())) return error;
      buffers_.push_back(std::move(buffer));
    }
    return CUDA_SUCCESS;
  }

 private:
  // Asks for the next piece; the source's stream calls us when it is here.
  CUresult ask(uint8_t* buffer) {
    const size_t offset = asked_;
    const size_t part = std::min(kPiece, bytes_ - offset);
    const uint32_t download = session_.tasks.add_download(buffer, part);
    wire::AsyncFrame<24> frame(CallId::cuMemcpyDtoHAsync_v2);
    frame.put(download);
    frame.put(uint64_t{src_ + offset});
    frame.put(uint64_t{part});
    frame.put(from_.stream_index());
    if (CUresult error = post(from_, frame)) {
      session_.tasks.forget_download(download);
      return error;
    }
    asked_ += part;
    HostTask arrived;
    arrived.action = [self = shared_from_this(), buffer, offset, part, download](bool failed) {
      self->arrived(buffer, offset, part, failed || self->session_.tasks.is_outstanding(download));
    };
    return stand_at(session_, from_, arrived);
  }

  void arrived(uint8_t* buffer, size_t offset, size_t part, bool failed) {
    if (failed_) return;
    failed_ = failed || !write(buffer, offset, part) || (asked_ < bytes_ && ask(buffer) != CUDA_SUCCESS);
    written_ += part;
    if (failed_) {
      session_.tasks.open(finished_, true);
    } else if (written_ == bytes_) {
      HostTask done;
      done.action = [self = shared_from_this()](bool lost) { self->done(lost); };
      if (stand_at(session_, to_, done) != CUDA_SUCCESS) session_.tasks.open(finished_, true);
    }
  }

  bool write(const uint8_t* buffer, size_t offset, size_t part) {
    wire::DynamicFrame frame(CallId::cuMemcpyHtoDAsync_v2, wire::kBulk);
    frame.arguments().put(uint64_t{dst_ + offset});
    frame.arguments().put(to_.stream_index());
    frame.complete(part);
    Channel* channel = to_.context->channel;
    if (channel->post(to_.context->index, frame.data(), frame.size(), buffer, part) != CUDA_SUCCESS)
      return false;
    channel->flush();
    return true;
  }

  void done(bool failed) {
    session_.helper_streams.give_back(from_.stream);
    session_.helper_streams.give_back(to_.stream);
    session_.tasks.open(finished_, failed);
  }

  Session& session_;
  const StreamPlace from_, to_;
  const CUdeviceptr src_, dst_;
  const size_t bytes_;
  size_t asked_ = 0;
  size_t written_ = 0;
  bool failed_ = false;
  std::vector<std::unique_ptr<std::vector<uint8_t>>> buffers_;
  std::shared_ptr<Gate> finished_;
};

}  // namespace

CUresult wait_for_stream(Session& session, const StreamPlace& earlier, const StreamPlace& later) {
  if (earlier.context->channel == later.context->channel) {
    return wait_on_one_server(session, earlier, later);
  }
  HostTask reached;
  reached.opens = std::make_shared<Gate>();
  HostTask stands;
  stands.after = reached.opens;
  if (CUresult error = stand_at(session, earlier, reached)) return error;
  return stand_at(session, later, stands);
}

CUresult wait_for_event_elsewhere(Session& session, const Event& event, const StreamPlace& later,
                                  unsigned flags) {
  const StreamPlace there{event.context, session.helper_streams.take(session, event.context)};
  if (there.stream == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  wire::AsyncFrame<12> wait(CallId::cuStreamWaitEvent);
  wait.put(there.stream_index());
  wait.put(event.index);
  wait.put(uint32_t{flags});
  CUresult result = post(there, wait);
  if (result == CUDA_SUCCESS) result = wait_for_stream(session, there, later);
  session.helper_streams.give_back(there.stream);
  return result;
}

namespace {

// One side's part of a copy over the link.
CUresult post_part(wire::ControlCall call, const PeerLink& link, const StreamPlace& place,
                   CUdeviceptr address, size_t bytes) {
  wire::AsyncFrame<24> frame(call);
  frame.put(link.number);
  frame.put(uint64_t{address});
  frame.put(uint64_t{bytes});
  frame.put(place.stream_index());
  return post(place, frame);
}

CUresult copy_over(Session& session, PeerLink& link, CUdeviceptr dst, Context* dst_context, CUdeviceptr src,
                   Context* src_context, size_t bytes, const StreamPlace& stream) {
  const StreamPlace from{src_context, link.sends};
  const StreamPlace to{dst_context, link.receives};
  {
    const std::lock_guard lock(link.order);
    if (CUresult error = wait_for_stream(session, stream, from)) return error;
    if (CUresult error = wait_for_stream(session, stream, to)) return error;
    if (CUresult error = post_part(wire::ControlCall::peer_send, link, from, src, bytes)) return error;
    if (CUresult error = post_part(wire::ControlCall::peer_receive, link, to, dst, bytes)) return error;
  }
  return wait_for_stream(session, to, stream);
}

}  // namespace

CUresult copy_between_servers(Session& session, CUdeviceptr dst, Context* dst_context, CUdeviceptr src,
                              Context* src_context, size_t bytes, const StreamPlace& stream) {
  if (PeerLink* link = session.peer_links.between(session, src_context, dst_context)) {
    return copy_over(session, *link, dst, dst_context, src, src_context, bytes, stream);
  }
  const StreamPlace from{src_context, session.helper_streams.take(session, src_context)};
  const StreamPlace to{dst_context, session.helper_streams.take(session, dst_context)};
  if (from.stream == nullptr || to.stream == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  // The destination is written after what is in the stream so far: the pieces come after it.
  if (CUresult error = wait_for_stream(session, stream, from)) return error;
  auto finished = std::make_shared<Gate>();
  const auto transfer = std::make_shared<Transfer>(session, from, src, to, dst, bytes);
  if (CUresult error = transfer->start(finished)) return error;
  HostTask stands;
  stands.after = finished;
  return stand_at(session, stream, stands);
}

}  // namespace sluice::client
