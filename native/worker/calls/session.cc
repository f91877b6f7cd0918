#include "worker/calls/session.h"

#include <cstring>
#include <thread>
#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "worker/calls/arriving_stripes.h"
#include "worker/calls/image.h"

namespace sluice::worker {

thread_local bool Session::gave_lead_ = false;

Session::Session(SessionContext& session_context)
    : context(session_context),
      driver(session_context.driver),
      staging(session_context.driver),
      downloads(session_context.driver),
      late_copies(session_context.driver),
      host_visible(session_context.driver),
      graphs(*this),
      stream_waits(session_context.driver),
      input_(session_context.connection) {}

Session::~Session() = default;

bool Session::run() {
  // Not a leader itself: a leader may be waiting for a kernel that never ends when the client goes.
  std::thread([this] { park(); }).detach();
  std::unique_lock lock(lead_mutex_);
  over_.wait(lock, [this] { return ended_; });
  return !broken_;
}

// A thread waits here until the lead is free, and leads until it has given it away or all is over.
void Session::park() {
  std::unique_lock lock(lead_mutex_);
  while (!ended_) {
    if (leading_) {
      parked_++;
      lead_free_.wait(lock, [this] { return !leading_ || ended_; });
      parked_--;
      continue;
    }
    leading_ = true;
    lock.unlock();
    lead();
    lock.lock();
  }
}

void Session::lead() {
  gave_lead_ = false;
  // The driver's current context is the thread's; the session's is the same for whoever leads.
  if (current_context_ != 0) enter_context(current_context_);
  while (serve_one()) {
    if (gave_lead_) return;
  }
  host_tasks.abandon();
  peer_links.shutdown();
  const std::lock_guard lock(lead_mutex_);
  ended_ = true;
  leading_ = false;
  lead_free_.notify_all();
  over_.notify_all();
}

void Session::give_lead() {
  gave_lead_ = true;
  const std::lock_guard lock(lead_mutex_);
  leading_ = false;
  if (parked_ > 0) {
    lead_free_.notify_one();
  } else {
    // Lives as long as the process, like the session.
    std::thread([this] { park(); }).detach();
  }
}

bool Session::serve_one() {
  if (broken_) return false;
  wire::RequestHeader header;
  if (!read_header(&header)) return false;
  Request request;
  request.call = static_cast<generated::CallId>(header.call);
  request.flags = header.flags;
  uint32_t arguments = header.length;
  const auto word = [&](uint32_t* value) {
    const uint8_t* bytes = arguments >= sizeof *value ? read_bytes(sizeof *value) : nullptr;
    if (bytes == nullptr) return false;
    std::memcpy(value, bytes, sizeof *value);
    arguments -= static_cast<uint32_t>(sizeof *value);
    return true;
  };
  if (request.sync() && !word(&request.sequence)) return false;
  if ((header.flags & wire::kBulk) != 0) {
    uint32_t size = 0;
    if (!word(&size) || size > arguments) {
      bad_frame(request);
      return false;
    }
    request.bulk_bytes = arguments - size;
    arguments = size;
  }
  if ((header.flags & wire::kStriped) != 0) {
    // In place of the data, and before the arguments, is its size.
    const uint8_t* bytes =
        request.bulk_bytes == sizeof(uint64_t) && stripes_.is_set() ? read_bytes(sizeof(uint64_t)) : nullptr;
    if (bytes == nullptr) {
      bad_frame(request);
      return false;
    }
    std::memcpy(&request.bulk_bytes, bytes, sizeof request.bulk_bytes);
    request.striped = true;
  }
  if (arguments > wire::kMaxArguments || request.bulk_bytes > wire::kMaxBulk) {
    bad_frame(request);
    return false;
  }
  const uint8_t* bytes = read_bytes(arguments);
  if (bytes == nullptr) return false;
  request.args = wire::Reader(bytes, arguments);
  if (header.call != static_cast<uint16_t>(wire::ControlCall::keepalive)) count_call(request);
  run_request(request, header.call);
  // After giving the lead away the session is somebody else's.
  return gave_lead_ || (!broken_ && request.bulk_bytes == 0) || skip_bulk(request);
}

void Session::run_request(Request& request, uint16_t call) {
  if (call < generated::kCallIdEnd) return dispatch(*this, request);
  switch (static_cast<wire::ControlCall>(call)) {
    case wire::ControlCall::set_context: {
      const auto index = request.args.get<uint32_t>();
      if (!request.args.finished()) return bad_frame(request);
      return enter_context(index);
    }
    case wire::ControlCall::host_task_done:
      return host_task_done(request);
    case wire::ControlCall::bind_default_pool:
      return calls::bind_default_pool(*this, request);
    case wire::ControlCall::keepalive:
      if (!request.args.finished()) bad_frame(request);
      return;
    case wire::ControlCall::host_copy:
      return calls::host_copy(*this, request);
    case wire::ControlCall::graph_bind:
      return calls::graph_bind(*this, request);
    case wire::ControlCall::graph_child:
      return calls::graph_child(*this, request);
    case wire::ControlCall::capture_node:
      return calls::capture_node(*this, request);
    case wire::ControlCall::invalidate_capture:
      return calls::invalidate_capture(*this, request);
    case wire::ControlCall::share_host:
      return calls::share_host(*this, request);
    case wire::ControlCall::unshare_host:
      return calls::unshare_host(*this, request);
    case wire::ControlCall::write_shared:
      return calls::write_shared(*this, request);
    case wire::ControlCall::fetch_shared:
      return calls::fetch_shared(*this, request);
    case wire::ControlCall::stripes:
      return use_stripes(request);
    case wire::ControlCall::peer_open:
      return calls::peer_open(*this, request);
    case wire::ControlCall::peer_accept:
      return calls::peer_accept(*this, request);
    case wire::ControlCall::peer_send:
      return calls::peer_send(*this, request);
    case wire::ControlCall::peer_receive:
      return calls::peer_receive(*this, request);
  }
  bad_frame(request);
}

void Session::host_task_done(Request& request) {
  const auto number = request.args.get<uint32_t>();
  if (!request.args.finished()) return bad_frame(request);
  const auto task = host_tasks.find(number);
  if (!task || request.bulk_bytes != task->bytes) return bad_frame(request);
  if (task->bytes > 0 && !read_bulk(request, task->target, task->bytes)) return;
  host_tasks.finish(*task);
}

// The client has opened them before it asked, so that they come soon or never.
void Session::use_stripes(Request& request) {
  constexpr std::chrono::milliseconds kPatience{3'000};
  const auto count = request.args.get<uint32_t>();
  if (!request.args.finished() || !request.sync() || stripes_.is_set()) return bad_frame(request);
  auto connections = arriving_stripes().take(count, kPatience);
  wire::Writer answer;
  answer.put(static_cast<uint32_t>(connections.size()));
  if (!connections.empty()) stripes_.set(std::move(connections));
  finish(request, CUDA_SUCCESS, answer);
  if (stripes_.is_set()) stripes_.use();
}

CUdevice Session::device(int32_t ordinal) const {
  return device_exists(ordinal) ? context.devices[static_cast<size_t>(ordinal)].device : -1;
}

void Session::bind_context(uint32_t index, CUcontext handle, size_t ordinal, bool primary) {
  bind(index, handle);
  context_info_[index] = {handle, ordinal, primary};
}

void Session::note_stream(CUstream stream) {
  unsigned flags = CU_STREAM_NON_BLOCKING;
  if (driver.cuStreamGetFlags == nullptr || driver.cuStreamGetFlags(stream, &flags) != CUDA_SUCCESS ||
      (flags & CU_STREAM_NON_BLOCKING) != 0) {
    has_free_streams_ = true;
  }
}

void Session::enter_context(uint32_t index) {
  current_context_ = index;
  const auto known = context_info_.find(index);
  // Without the context, as when creating it failed, calls fail in the driver for lack of one.
  driver.cuCtxSetCurrent(known == context_info_.end() ? nullptr : known->second.handle);
  if (known != context_info_.end()) current_ordinal_ = known->second.ordinal;
}

void Session::leave_context(uint32_t index) {
  const auto known = context_info_.find(index);
  if (known == context_info_.end()) return;
  // A stream that stands at a value in memory never ends by itself: the driver ends it with the context, and
  // what it may still use goes with the context as well.
  if (!stream_waits.outstanding()) {
    driver.cuCtxSynchronize();
    staging.forget(known->second.handle);
    downloads.forget(known->second.handle);
    late_copies.forget(known->second.handle);
    graphs.forget_context(index);
    graphs.buffers.forget(*this, known->second.handle);
  }
  stream_waits.forget(index);
  std::erase_if(links, [&](const auto& entry) {
    if (entry.second->context != index) return false;
    driver.cuLinkDestroy(entry.second->state);
    return true;
  });
  const auto of_context = [&](const auto& entry) {
    if (entry.second.context != index) return false;
    context.memory.release(entry.second.ordinal, entry.second.bytes);
    return true;
  };
  shared_memory.forget(index);
  std::erase_if(allocations, of_context);
  std::erase_if(array_memory, of_context);
  std::erase_if(mipmap_memory, of_context);
  const auto made_in_context = [index](const auto& entry) { return entry.second == index; };
  std::erase_if(texture_objects, made_in_context);
  std::erase_if(surface_objects, made_in_context);
  context_info_.erase(known);
  contexts_.forget(index);
}

void Session::keep_error(CUresult error) {
  if (error == CUDA_SUCCESS) return;
  const std::lock_guard lock(error_mutex_);
  if (kept_error_ == CUDA_SUCCESS) kept_error_ = error;
}

CUresult Session::take_error() {
  const std::lock_guard lock(error_mutex_);
  return std::exchange(kept_error_, CUDA_SUCCESS);
}

void Session::finish(const Request& request, CUresult result) { finish(request, result, wire::Writer()); }

void Session::finish(const Request& request, CUresult result, const wire::Writer& answer) {
  if (!request.sync()) {
    if (result != CUDA_SUCCESS) {
      SLUICE_DEBUG("%s: error %d", generated::call_name(static_cast<uint16_t>(request.call)), result);
      keep_error(result);
    }
    return;
  }
  const std::lock_guard lock(write_mutex_);
  send_head(request, result, answer.size(), answer.data(), answer.size());
}

bool Session::send_head(const Request& request, CUresult result, uint64_t bytes, const void* part,
                        size_t part_bytes) {
  if (result == CUDA_SUCCESS && bytes == 0 && generated::may_report_earlier_error(request.call)) {
    result = take_error();
  }
  struct __attribute__((packed)) {
    wire::ResponseHeader header;
    uint32_t sequence;
    int32_t result;
    uint64_t striped;
  } head{{0, static_cast<uint16_t>(wire::ResponseKind::reply), 0}, request.sequence, result, bytes};
  answer_is_striped_ = bytes >= wire::kLeastStriped && stripes_.in_use();
  const size_t head_bytes = sizeof head - (answer_is_striped_ ? 0 : sizeof head.striped);
  head.header.length =
      static_cast<uint32_t>(head_bytes - sizeof head.header + (answer_is_striped_ ? 0 : bytes));
  if (answer_is_striped_) {
    head.header.flags = wire::kStriped;
    return context.connection.write_all(&head, head_bytes) && write_striped(part, part_bytes);
  }
  const iovec parts[] = {{&head, head_bytes}, {const_cast<void*>(part), part_bytes}};
  return context.connection.write_all(std::span(parts, part_bytes > 0 ? 2u : 1u));
}

bool Session::send(wire::ResponseKind kind, const void* head, size_t head_bytes, const void* data,
                   size_t data_bytes) {
  const uint64_t size = data_bytes;
  const bool striped = size >= wire::kLeastStriped && stripes_.in_use();
  const wire::ResponseHeader header{static_cast<uint32_t>(head_bytes + (striped ? sizeof size : data_bytes)),
                                    static_cast<uint16_t>(kind), striped ? wire::kStriped : uint16_t{0}};
  const iovec parts[] = {
      {const_cast<wire::ResponseHeader*>(&header), sizeof header},
      {const_cast<void*>(head), head_bytes},
      {striped ? const_cast<uint64_t*>(&size) : const_cast<void*>(data), striped ? sizeof size : data_bytes}};
  const std::lock_guard lock(write_mutex_);
  return context.connection.write_all(std::span(parts, data_bytes > 0 ? 3u : 2u)) &&
         (!striped || write_striped(data, data_bytes));
}

bool Session::write_striped(const void* data, size_t size) {
  if (stripes_.write(data, size)) return true;
  context.connection.shutdown();  // half an answer cannot be taken back
  return false;
}

bool Session::send_raw(const void* data, size_t size) {
  return answer_is_striped_ ? write_striped(data, size) : context.connection.write_all(data, size);
}

void Session::send_goodbye(std::string_view reason) {
  send(wire::ResponseKind::goodbye, reason.data(), std::min<size_t>(reason.size(), wire::kMaxGoodbye),
       nullptr, 0);
}

void Session::bad_frame(const Request& request) {
  SLUICE_WARN("The client sent a frame that cannot be %s; its session ends.",
              generated::call_name(static_cast<uint16_t>(request.call)));
  broken_ = true;
}

void Session::count_call(const Request& request) {
  SessionCounters& counters = context.counters;
  counters.calls.fetch_add(1, std::memory_order_relaxed);
  if (request.sync()) {
    counters.round_trips.fetch_add(1, std::memory_order_relaxed);
    // The clock is read where an answer costs much more anyway.
    counters.last_call_unix_ms.store(unix_ms(), std::memory_order_relaxed);
    counters.bytes_in.store(context.connection.bytes_read(), std::memory_order_relaxed);
    counters.bytes_out.store(context.connection.bytes_written(), std::memory_order_relaxed);
  }
}

}  // namespace sluice::worker
